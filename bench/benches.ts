import type { OpenBench } from './bench.ts'

export const BENCHES: Readonly<Record<string, () => Promise<{ open: OpenBench }>>> = {
  embedded: () => import('./embedded/index.ts'),
  rabbitmq: () => import('./rabbitmq/index.ts'),
  kafka: () => import('./kafka/index.ts'),
  policy: () => import('./policy/index.ts'),
  office: () => import('./office/index.ts'),
  rules: () => import('./rules/index.ts'),
}
