import type { Syntax } from '../notice.ts'
import type { ContentKind, HandlingMode } from '../types.ts'

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
