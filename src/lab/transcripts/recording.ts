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

/** A part of a file that could not be read or was repaired. The rest of the file is still used. */
export interface Problem {
  /** Line number in the (unpacked) file, from 1. */
  readonly line: number
  readonly message: string
}

/** One part of a message: an item as the wire's codec reads it. */
export interface Part extends Pick<Item, 'kind' | 'role' | 'text' | 'callId' | 'toolName' | 'isError' | 'serverSide'> {
  /** A call's arguments as a value; a string for tools that take free text. */
  readonly input?: unknown
  /** Number of Base64 characters of its media. */
  readonly mediaBytes?: number
}

/** One element of the wire's history array. Immutable; its JSON text is written on first use. */
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
  /** The model's answer; measures compare views with it. */
  readonly response: { readonly parts: readonly Part[] }
  readonly model?: string
  /** Absent when the recording has none: missing usage is not zero usage. */
  readonly usage?: Usage
  /** `usage.output` is a value from the start of the stream (Claude Code): too small, and left out of sums. */
  readonly outputPartial?: true
  /** Milliseconds since 1970. */
  readonly at?: number
  /** The request body as a client that resends its history would send it. Built on each call, because it may have megabytes. */
  body(): string
}

/** A compaction by the recorded client. */
export interface RecordedCompaction {
  readonly line: number
  /** Index of the first call after it. */
  readonly beforeCall: number
  readonly tokensBefore?: number
}

/** A recorded session, for measuring or replaying it. */
export interface Recording {
  readonly format: TranscriptFormat
  readonly file: string
  /** Distinguishes several recordings of one file: a task, a sub-agent. */
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
  /** The declaration as on the wire. */
  readonly json: string
}

export interface LoadOptions {
  /**
   * `recorded`: after a compaction of the client, calls send what it left. `everything`: the client's compactions are ignored, and each call sends
   * the whole history. @default 'recorded'
   */
  readonly resend?: 'recorded' | 'everything'
  /** @default 'keep' */
  readonly thinking?: 'keep' | 'drop'
  /**
   * Claude Code writes a parallel call's result before the next call of the same response. `merged`: one response is one call, as on the wire.
   * `as-written`: each run of lines is a call. @default 'merged'
   */
  readonly parallel?: 'merged' | 'as-written'
}

/** One JSON value of a file, and its first line. */
export interface SourceValue {
  readonly value: unknown
  readonly line: number
}

export interface LoadContext {
  readonly file: string
  readonly options: LoadOptions
  /** The same list for all recordings of a file. */
  readonly problems: Problem[]
}

/** Reads one transcript format. */
export interface TranscriptLoader {
  readonly format: TranscriptFormat
  /** Whether a JSON value is an entry, or the whole document, of this format. */
  recognises(value: unknown): boolean
  load(values: readonly SourceValue[], context: LoadContext): readonly Recording[]
}
