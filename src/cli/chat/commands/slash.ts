import { wrapped } from '../../kit/wrapped.ts'
import type { Chat } from '../chat.ts'
import type { Console } from '../console.ts'
import type { Provider } from '../providers.ts'
import type { Spinner } from '../spinner.ts'

export interface SlashContext {
  readonly chat: Chat
  readonly console: Console
  readonly spinner: Spinner
  /** A provider for a model by its name, from the environment. */
  providerFor(model: string): Provider
  leave(): void
}

/** Something that a person types after a slash. */
export interface Slash {
  readonly name: string
  /** What may follow it. */
  readonly takes?: string
  readonly about: string
  run(rest: string, context: SlashContext): Promise<void> | void
}

export const say = ({ console: { write, screen } }: SlashContext, text: string): void =>
  write(`${wrapped(text.replace(/\n$/, ''), screen)}\n`)
