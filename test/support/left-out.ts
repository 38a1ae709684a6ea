import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Reporter } from 'vitest/node'
import { SHARED } from './shared-data.ts'

/** Says in the last lines of a run which tests had less to look at, because the recorded data is not beside the project. */
export default class LeftOut implements Reporter {
  onTestRunEnd(): void {
    if (existsSync(join(SHARED, 'data'))) return
    const root = resolve(import.meta.dirname, '..')
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.test.ts'))
      .filter((file) => /support\/shared-data\.ts|corpusFiles/.test(readFileSync(join(root, file), 'utf8')))
      .sort()
    const isRecorded = (file: string): boolean => file.endsWith('.recorded.test.ts')
    const list = (names: readonly string[]): string => names.map((file) => `  test/${file}`).join('\n')
    console.log(`\nRecorded data is not at ${SHARED} (PLIMSOLL_SHARED names another place). Not run:`)
    console.log(list(files.filter(isRecorded)))
    console.log('Run on what the project itself holds:')
    console.log(list(files.filter((file) => !isRecorded(file))))
  }
}
