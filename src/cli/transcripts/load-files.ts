import { loadFile } from '../../lab/transcripts/load.ts'
import type { LoadOptions, Recording } from '../../lab/transcripts/recording.ts'
import { sentenceOf } from '../kit/output.ts'
import type { GivenFile } from './find-files.ts'

export interface LoadedFiles {
  readonly recordings: readonly Recording[]
  /** One sentence per file that gave nothing. */
  readonly failures: readonly string[]
  /** Files of a folder that hold something else. */
  readonly others: number
}

/** Loads what can be loaded: one bad file does not take the others with it. */
export async function loadFiles(
  files: readonly GivenFile[],
  options: LoadOptions,
  onFile: (done: number, file: string) => void,
): Promise<LoadedFiles> {
  const recordings: Recording[] = []
  const failures: string[] = []
  let others = 0
  for (const [done, { path, named }] of files.entries()) {
    onFile(done, path)
    try {
      const loaded = await loadFile(path, options)
      recordings.push(...namedApart(loaded.recordings))
      if (loaded.recordings.length > 0) continue
      if (named)
        failures.push(...loaded.problems.slice(0, 3).map(({ line, message }) => `${path}, line ${line}: ${message}`))
      else others++
    } catch (error) {
      failures.push(sentenceOf(error))
    }
  }
  return { recordings, failures, others }
}

/** The only recording of a file is told by the file alone. */
function namedApart(recordings: readonly Recording[]): readonly Recording[] {
  if (recordings.length !== 1) return recordings
  return recordings.map(({ name: _name, ...recording }) => recording)
}
