import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { aptInstall } from './apt.ts'
import { firstProgram, onPath, run } from './processes.ts'

const OLDEST = 17

export interface Java {
  readonly path: string
  readonly version: string
}

export async function findJava(): Promise<Java | undefined> {
  const home = process.env.JAVA_HOME
  const path = (home && firstProgram([join(home, 'bin', 'java')])) || onPath('java')
  if (!path) return undefined
  const version = /version "([^"]+)"/.exec(await run(path, ['-version']))?.[1] ?? ''
  return Number.parseInt(version, 10) >= OLDEST ? { path, version } : undefined
}

export async function getJava(): Promise<Java> {
  const found = await findJava()
  if (found) return found
  await aptInstall(['default-jre-headless'])
  const got = await findJava()
  if (!got) throw new Error(`no Java of version ${OLDEST} or later on the PATH`)
  return got
}

/** Copies a library and all that it needs at run time into `libs`, by Maven. */
export async function fetchJars(folder: string, artifacts: readonly string[]): Promise<void> {
  if (!onPath('mvn')) await aptInstall(['maven'])
  await run('mvn', [
    '-q',
    '-B',
    '-f',
    await writePom(folder, artifacts),
    'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies',
    '-DincludeScope=runtime',
    `-DoutputDirectory=${join(folder, 'libs')}`,
  ])
}

async function writePom(folder: string, artifacts: readonly string[]): Promise<string> {
  const dependencies = artifacts.map((artifact) => {
    const [group, name, version] = artifact.split(':')
    return `<dependency><groupId>${group}</groupId><artifactId>${name}</artifactId><version>${version}</version></dependency>`
  })
  const pom = join(folder, 'pom.xml')
  await writeFile(
    pom,
    `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>reprieve.test</groupId>
  <artifactId>services</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    ${dependencies.join('\n    ')}
  </dependencies>
</project>
`,
  )
  return pom
}
