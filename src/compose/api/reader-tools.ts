import { TOOL_ARGUMENTS, checkedFace } from './checked.ts'
import type { NewTool } from '../../core/conversation.ts'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import { recordOf } from '../../core/values.ts'
import { type ReaderCall, readerTools } from '../../engine/readers/reader-tools.ts'
import { answerCall, type Asker } from '../../engine/readers/scope.ts'
import type { Session } from '../../engine/session/session.ts'
import type { DeclaredTools } from '../../formats/registry.ts'
import { isWire, WIRE_FORMATS, wireOf, type WireFormat } from '../../formats/registry.ts'
import {
  FRAMEWORK_FORMATS,
  isFramework,
  readersFor,
  type Answering,
  type FrameworkFormat,
  type FrameworkReaders,
} from './reader-shapes.ts'
import type { OpenReaders } from '../open/readers.ts'

/** An API format, or a framework with its own form of tools. */
export type ToolFormat = WireFormat | FrameworkFormat

type Declarations = { [F in WireFormat]: DeclaredTools[F][] } & FrameworkReaders

export interface ReaderToolOptions {
  /** The model's window, in tokens; a small one gets a single compact tool. @default the window of the options, else a large one */
  readonly window?: number
}

/** `recall` and the artifact readers, for your own agent loop. */
export interface ReaderTools<F extends ToolFormat = ToolFormat> {
  /** Declarations to add to your tools. Those for a framework include their handlers. */
  readonly declarations: Declarations[F]
  readonly names: readonly string[]
  /** Whether a tool of this name is one of these. */
  has(name: string): boolean
  /** Answers a call with text. A mistake of the model is described in the text and never thrown. */
  call(name: string, input: unknown): Promise<string>
  /**
   * Answers all calls of these tools in a response, each as the API format writes a tool result: blocks of a user message, messages, items or parts.
   * Empty without calls, and for frameworks, which run their tools themselves.
   */
  answer(response: object): Promise<readonly object[]>
}

/** The tools of one session. They open what the history of its last request contains, like the gateway's. */
export function readerToolsOf<F extends ToolFormat>(
  readers: OpenReaders,
  session: Pick<Session, 'id' | 'agent' | 'tenant' | 'scope'>,
  format: F,
  window: number,
): ReaderTools<F> {
  const { tenant, id, agent } = session
  const owner = { tenant, session: id, agent }
  const tools = readerTools(readers.names(window))
  const names = tools.map(({ name }) => name)
  const asker = async (): Promise<Asker> => ({ scope: await session.scope(), readers: await readers.of(owner) })
  const call: Answering = (name, input) => answerAsText(asker, { name, input })
  const has = (name: string): boolean => names.includes(name)
  const face: ReaderTools<F> = {
    declarations: declarationsOf(format, tools, call),
    names,
    has,
    call,
    async answer(response) {
      if (!isWire(format)) return []
      const { steps } = wireOf(format)
      const calls = steps.partsOf(recordOf(response) ?? {}).flatMap((part) => steps.callOf(part, has) ?? [])
      return Promise.all(calls.map(async (one) => steps.resultOf(one, await call(one.name, one.input))))
    },
  }
  return checkedFace(face, TOOL_ARGUMENTS, ['has'])
}

/** Answers one call of ours. What the model did wrong is part of the answer; it never fails the client's request. */
export async function answerAsText(asker: () => Promise<Asker>, call: ReaderCall): Promise<string> {
  try {
    return (await answerCall(await asker(), call))?.text ?? `There is no tool ${call.name}.`
  } catch (error) {
    const message = isPlimsollError(error) ? error.message : 'The stored data cannot be reached at the moment.'
    return `${call.name} failed: ${message}`
  }
}

function declarationsOf<F extends ToolFormat>(
  format: F,
  tools: readonly NewTool[],
  call: Answering,
): ReaderTools<F>['declarations']
function declarationsOf(format: string, tools: readonly NewTool[], call: Answering): object {
  if (isFramework(format)) return readersFor(format, tools, call)
  if (isWire(format)) return tools.map((tool) => wireOf(format).declare(tool))
  const known = [...WIRE_FORMATS, ...FRAMEWORK_FORMATS]
  throw new PlimsollError('unsupported', `There are no tools in the shape of ${JSON.stringify(format)}.`, {
    advice: `Use one of ${known.join(', ')}.`,
    fields: { format, known },
  })
}
