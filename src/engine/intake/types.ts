import type { ToolRegistry } from './registry.ts'

export type ContentKind =
  | 'empty'
  | 'json-array'
  | 'json-object'
  | 'json-value'
  | 'ndjson'
  | 'log'
  | 'time-series'
  | 'csv'
  | 'tsv'
  | 'table'
  | 'markdown'
  | 'diff'
  | 'html'
  | 'xml'
  | 'stack-trace'
  | 'test-output'
  | 'code'
  | 'base64'
  | 'plain'
  | 'binary'

/** What a tool's output is. */
export interface Classified {
  readonly kind: ContentKind
  /** The dialect: `prometheus`, `syslog`, `go-test`, a programming language, a file type. */
  readonly format?: string
  /** 0…1; structure that was parsed is 1. */
  readonly confidence: number
  readonly mime: string
  readonly encoding: 'utf-8' | 'binary'
  readonly bytes: number
  readonly chars: number
  readonly lines: number
  /** Records, rows, spans, entries: what the content is a list of. */
  readonly items?: number
  /** Characters before the content proper: a status line, a tool's own header. Always shown. */
  readonly preamble: number
}

export interface Size {
  readonly bytes: number
  readonly chars: number
  readonly lines: number
  readonly items?: number
}

export interface ShowOptions {
  /** The view takes at most this many tokens by `countTokens`, notice included. */
  readonly budgetTokens: number
  readonly countTokens: (text: string) => number
  /** Address of the stored original. Without one the notice says that the rest was not kept. */
  readonly handle?: string
  /** Name of the tool that wrote it; chooses a summary from the registry. */
  readonly tool?: string
  /** Tools that the model can really call to read more. When empty no tool is named. @default [] */
  readonly readers?: readonly string[]
  readonly registry?: ToolRegistry
  /** Handles that this session was given before; they stay readable in tool text. @default [] */
  readonly knownHandles?: readonly string[]
  /** Milliseconds, for `processing_ms`. Without it the field is absent. */
  readonly now?: () => number
}

export interface Shown {
  /** What goes into the conversation. */
  readonly text: string
  /** `text` without the notice: parses as `mime` says. */
  readonly body: string
  /** Of `text`: JSON in gives JSON out. */
  readonly mime: string
  readonly kind: ContentKind
  readonly format?: string
  readonly truncated: boolean
  readonly tokens: number
  readonly original: Size
  readonly shown: Size
  /** What the input is, in the words of an artifact's description. */
  readonly about: About
  readonly report: ShowReport
}

export interface About {
  readonly mime: string
  readonly encoding: 'utf-8' | 'binary'
  readonly lines: number
  readonly items?: number
  readonly contentKind: ContentKind
}

export type HandlingMode =
  | 'none'
  | 'template'
  | 'structured-sample'
  | 'head-tail'
  | 'description'
  /** AutoSRE's own words for its three ways. */
  | 'template_sandbox'
  | 'generic_sandbox'
  | 'code_generation_prompt'
  /** A budget had no room for a view: the address, or only the reason. */
  | 'handle'
  | 'refusal'

/** AutoSRE's metadata keys and Cyber-AutoAgent's seven compression fields, under their own names. */
export interface ShowReport {
  readonly large_payload_handled: boolean
  readonly handling_mode: HandlingMode
  readonly template_used?: string
  readonly original_items: number
  readonly original_chars: number
  readonly processing_ms?: number
  readonly compressed: boolean
  readonly original_size: number
  readonly compressed_size: number
  readonly compression_ratio: number
  readonly content_type: 'text' | 'json' | 'mixed'
  readonly n_original_keys: number | null
  readonly sample_data: Readonly<Record<string, string>> | null
}

export type Syntax = 'text' | 'json' | 'csv'

/** One way to show a content. Built once (one pass over the input), rendered several times in search of the right size. */
export interface BodyView {
  readonly syntax: Syntax
  readonly mode: HandlingMode
  readonly template?: string
  readonly items?: number
  /** A body of about `chars` characters; 0 gives the smallest. */
  render(chars: number): RenderedBody
}

export interface RenderedBody {
  /** Stands between notice and body and is no part of either, e.g. column statistics above CSV rows. */
  readonly preface?: string
  readonly body: string
  /** What it holds, and what not, in words. */
  readonly holds: string
  readonly leftOut: string
  readonly lines?: number
  readonly items?: number
}

export interface ViewInput {
  readonly text: string
  readonly from: number
  readonly kind: ContentKind
  readonly format?: string
  /** No more than this many characters can ever be shown. */
  readonly windowChars: number
  /** Makes a piece of the input fit to be shown: no terminal codes, no look-alikes of our own marks. */
  readonly clean: (text: string) => string
}
