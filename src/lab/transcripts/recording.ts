import type { Item, Role } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'

export type Wire = 'anthropic-messages' | 'openai-chat' | 'openai-responses' | 'gemini'

export type TranscriptFormat =
  | 'claude-code'
  | 'codex-rollout'
  | 'gemini-cli'
  | 'copilot-cli'
  | 'pi'
  | 'opencode'
  | 'cline'
  | 'openhands'
  | 'swe-agent'
  | 'tau-bench'
  | 'tau2-bench'
  | 'openai-chat'
  | 'anthropic'
  | 'request-log'

/** Something in a file that could not be read, or had to be repaired. The rest of the file still counts. */
export interface Problem {
  /** 1-based line in the (unpacked) file. */
  readonly line: number
  readonly message: string
}

/** One part of a message: an item as the wire's codec reads it. */
export interface Part extends Pick<Item, 'kind' | 'role' | 'text' | 'callId' | 'toolName' | 'isError' | 'serverSide'> {
  /** A call's arguments as a value; a string where the tool takes free text. */
  readonly input?: unknown
  /** Base64 characters that travel with it. */
  readonly mediaBytes?: number
}

/** One element of the wire's history array. Immutable; the JSON text is written when it is first asked for. */
export interface WireMessage {
  readonly role: Role
  readonly parts: readonly Part[]
  readonly line: number
  json(): string
}

/** One model call. It sends `messages[from … to)` of its recording. */
export interface RecordedCall {
  readonly index: number
  readonly from: number
  readonly to: number
  readonly line: number
  /** What the model answered: the turn that a view is judged by. */
  readonly response: { readonly parts: readonly Part[] }
  readonly model?: string
  /** Absent when the recording has none: missing usage is not zero usage. */
  readonly usage?: Usage
  /** `usage.output` is a value from the start of the stream (Claude Code): too small, not to be summed. */
  readonly outputPartial?: true
  /** Milliseconds since 1970. */
  readonly at?: number
  /** The request body as a client that resends its history would send it. Built on each call: up to megabytes. */
  body(): string
}

/** A compaction that the recorded client itself made. */
export interface RecordedCompaction {
  readonly line: number
  /** Index of the first call after it. */
  readonly beforeCall: number
  readonly tokensBefore?: number
}

/** A session as it was recorded, ready to be measured or sent again. */
export interface Recording {
  readonly format: TranscriptFormat
  readonly file: string
  /** Tells recordings of one file apart: a task, a sub-agent. */
  readonly name?: string
  readonly wire: Wire
  readonly model?: string
  readonly system?: string
  readonly tools: readonly RecordedTool[]
  readonly messages: readonly WireMessage[]
  readonly calls: readonly RecordedCall[]
  readonly compactions: readonly RecordedCompaction[]
  readonly problems: readonly Problem[]
}

export interface RecordedTool {
  readonly name: string
  /** The declaration as it stands on the wire. */
  readonly json: string
}

export interface LoadOptions {
  /**
   * `recorded`: calls after the client's own compaction send what was left. `everything`: the client's compactions are
   * ignored, so that every call resends the whole history. @default 'recorded'
   */
  readonly resend?: 'recorded' | 'everything'
  /** @default 'keep' */
  readonly thinking?: 'keep' | 'drop'
  /**
   * Claude Code writes a parallel call's result before the next call of the same response. `merged`: one response is one
   * call, as it was on the wire. `as-written`: each run of lines is a call of its own. @default 'merged'
   */
  readonly parallel?: 'merged' | 'as-written'
}

/** One JSON value of a file and the line it begins on. */
export interface SourceRecord {
  readonly value: unknown
  readonly line: number
}

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
