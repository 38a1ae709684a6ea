import type { LoadOptions, Problem, Recording, TranscriptFormat } from './recording.ts'
import type { SourceRecord } from './source.ts'

export interface LoadContext {
  readonly file: string
  readonly options: LoadOptions
  /** Shared by all recordings of the file. */
  readonly problems: Problem[]
}

/** Reads one transcript format. */
export interface TranscriptLoader {
  readonly format: TranscriptFormat
  /** Says of one JSON value whether it is a record (or the whole document) of this format. */
  recognises(value: unknown): boolean
  load(records: readonly SourceRecord[], context: LoadContext): readonly Recording[]
}
