import type { Chat } from './chat.ts'

/** What a manager may know: the limit, and a count of tokens that is the referee's own. */
export interface Terms {
  readonly limit: number
  /** The same for who counts with OpenAI's vocabulary whatever the model is. */
  readonly o200kLimit: number
  count(message: Chat): number
  countText(text: string): number
  /** A model that writes summaries, the same for everybody; what it reads and writes is added to the price. */
  summarize(prompt: string): string
}

/** A context manager on one session. It gets the whole history with each call and gives back what would be sent. */
export type Manage = (history: readonly Chat[]) => Promise<readonly Chat[]>

export interface Manager {
  readonly name: string
  /** How it was set up, for the page. */
  readonly setup: string
  /** Name and version of the package; absent for what is no package. */
  readonly from?: string
  start(terms: Terms): Manage
}
