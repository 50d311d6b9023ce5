import { POLICIES } from '../core/policy.ts'
import { BREAKERS, DEPENDENCIES, NO_BREAKER, STORES, TIMEOUTS } from './builtin.ts'
import { isMapping, loose } from './loose.ts'
import type { Names } from './shapes.ts'

/** What a book may call by name: what is built in, and what it defines itself. */
export const namesIn = (root: unknown): Names => {
  const section = (name: string): readonly string[] => {
    const value = loose(root)[name]
    return isMapping(value) ? Object.keys(value) : []
  }
  return {
    policies: new Set([...Object.keys(POLICIES), ...section('policies')]),
    breakers: new Set([...BREAKERS.keys(), ...section('breakers'), NO_BREAKER]),
    timeouts: new Set([...TIMEOUTS.keys(), ...section('timeouts')]),
    dependencies: new Set([...DEPENDENCIES.keys(), ...section('dependencies')]),
    stores: new Set([...STORES, ...section('stores')]),
  }
}
