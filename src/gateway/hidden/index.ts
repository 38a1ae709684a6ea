import type { Link } from '../../core/chain.ts'
import type { Codec, ModelResponse } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { restore, type Restoration } from '../../core/edits.ts'
import { sha256Text } from '../../drivers/crypto/sha256.ts'
import type { ToolOffer } from '../../engine/readers/offered-tools.ts'
import type { PreparedTurn } from '../../engine/prepare/prepare.ts'
import { COMPACT_READER, COMPACT_READS, readersIn, readerTools } from '../../engine/readers/reader-tools.ts'
import { wireOf } from '../../formats/registry.ts'
import { restorationsOf, type StepReader } from './restore.ts'
import { runHiddenTool, type HiddenAsker, type HiddenToolDeps } from './run-tool.ts'
import { answerAfter, signOf, type HiddenSteps } from './steps.ts'
import type { Fields } from '../../core/values.ts'
import type { HiddenStep, HiddenWire, IsOurs, VisibleStream } from '../../formats/wire/steps.ts'

/** Most answers of ours to one request of the client. */
const MAX_HIDDEN_STEPS = 4

export interface HiddenDeps {
  readonly steps: HiddenSteps
  readonly reader: (codec: Codec, wire: HiddenWire) => StepReader
  readonly tools: HiddenToolDeps
}

export interface HiddenRequest extends HiddenAsker {
  readonly codec: Codec
  readonly conversation: Conversation
  readonly links: readonly Link[]
}

/** The request that goes on after our tools were answered. */
export interface HiddenNext {
  readonly conversation: Conversation
  /** What the engine may declare in it: nothing of ours, once enough was read. */
  readonly offer: ToolOffer
}

/** A request into which our tools may come, and what happens to its answers. */
export interface HiddenSession {
  /** The client's request with earlier steps back in it: what the engine gets to see. */
  readonly conversation: Conversation
  /** Tools of ours that the engine may declare. */
  readonly offer: ToolOffer
  /** Told what the engine declared, before the request leaves. */
  declared(turn: Pick<PreparedTurn, 'declared' | 'epoch'>): Promise<void>
  stream(): VisibleStream
  partsOf(body: Fields): readonly Fields[]
  assemble(bodies: readonly Fields[], visible: readonly Fields[]): Fields
  isHidden(part: Fields): boolean
  /**
   * Takes one answer of the upstream. Gives the request that goes on from it, or undefined when the client's turn has come:
   * nothing of ours in it, or calls of the client's own beside it.
   */
  take(parts: readonly Fields[]): Promise<HiddenNext | undefined>
  /** The visible answer is complete: steps become durable. */
  done(visible: ModelResponse | undefined): Promise<void>
}

/** Undefined when nothing of ours is or was in this request. */
export async function openHidden(deps: HiddenDeps, request: HiddenRequest): Promise<HiddenSession | undefined> {
  const { owner, codec, conversation, links } = request
  const { steps: wire } = wireOf(codec.format)
  const admission = wire.admits(codec.fields(conversation))
  const isOurs = ownedNames(deps.tools.names(conversation.settings.model), conversation)
  // A client that has a reader of ours, over MCP, or a tool of its own with that name needs no other.
  const mayDeclare = admission !== 'no' && isOurs(COMPACT_READER.name) && readersIn(conversation.tools).size === 0
  // Without tools of the client's own some providers refuse calls in the history.
  if (!mayDeclare && conversation.tools.length === 0) return undefined

  const reader = deps.reader(codec, wire)
  const isHidden = (part: Fields): boolean => wire.callOf(part, isOurs) !== undefined
  const withSteps = async (): Promise<Conversation> => {
    const wanted = new Set(await deps.steps.chains(owner))
    const found: Restoration[] = []
    for (const link of wanted.size === 0 ? [] : links) {
      if (!wanted.has(link.chain)) continue
      const answer = await deps.steps.answer(owner, link.chain)
      const own = answerAfter(conversation.items, link)
      if (answer === undefined || own.length === 0 || signOf(own) !== answer.sign) continue
      const visible = { conversation, from: link.index + 1, length: own.length }
      found.push(...restorationsOf(reader, codec, wire, visible, answer.steps, isHidden))
    }
    return restore(conversation, found)
  }
  const restored = await withSteps()
  if (!mayDeclare && restored === conversation) return undefined
  const tools = readerTools(deps.tools.names(conversation.settings.model).filter(isOurs))
  const list = listOf(conversation)
  let standing = mayDeclare ? await deps.steps.declared(owner, list) : undefined
  const offer = (): ToolOffer => ({
    tools: mayDeclare ? tools : [],
    ...(standing !== undefined && { declared: standing.tools, withEpoch: standing.withEpoch ?? false }),
    isClosed: admission === 'closed',
  })
  const taken: HiddenStep[] = []
  let transcript = restored
  return {
    conversation: restored,
    offer: offer(),
    async declared({ declared, epoch }) {
      const isNew = standing === undefined || declared.some((name) => !standing!.tools.includes(name))
      if (!mayDeclare || !isNew || (admission === 'closed' && declared.length === 0)) return
      const withEpoch = epoch !== undefined && standing !== undefined
      standing = { tools: declared, ...(withEpoch && { withEpoch }) }
      await deps.steps.declare(owner, list, standing)
    },
    stream: () => wire.stream(mayDeclare ? isOurs : () => false),
    partsOf: (body) => wire.partsOf(body),
    assemble: (bodies, parts) => wire.assemble(bodies, parts),
    isHidden: (part) => mayDeclare && isHidden(part),
    async take(parts) {
      const own = mayDeclare ? parts.filter(isHidden) : []
      // Whoever calls a tool that is not declared any more has no answer to wait for.
      if (own.length === 0 || taken.length >= MAX_HIDDEN_STEPS) return undefined
      const results: Fields[] = []
      for (const part of own) {
        const call = wire.callOf(part, isOurs)!
        results.push(wire.resultOf(call, await runHiddenTool(deps.tools, request, call)))
      }
      const beside = parts.some((part) => wire.isCall(part) && !own.includes(part))
      const id = `h${conversation.items.length}.${taken.length}`
      taken.push({ parts, results, beside })
      if (beside) return undefined
      transcript = restore(transcript, [{ items: reader.read({ parts, results }, id), instead: [] }])
      return { conversation: transcript, offer: { ...offer(), withheld: taken.length >= MAX_HIDDEN_STEPS } }
    },
    async done(response) {
      const chain = links.at(-1)?.chain
      if (taken.length === 0 || chain === undefined || response === undefined) return
      await deps.steps.remember(owner, chain, { steps: taken, sign: signOf(response.items) })
    },
  }
}

/**
 * Names that are answered here: readers that the client has no tool of the same name for, declared or called before. A model that calls one
 * which this request does not declare, because it saw it earlier, is answered all the same: nobody else could.
 */
function ownedNames(names: readonly string[], { tools, items }: Conversation): IsOurs {
  const ours = new Set([...names, ...COMPACT_READS])
  for (const { name } of tools) ours.delete(name)
  for (const { kind, toolName } of items) if (kind === 'call' && toolName !== undefined) ours.delete(toolName)
  return (name) => ours.has(name)
}

const lists = new WeakMap<Conversation['tools'], string>()

/** The client's own list of tools, by content. Where it did not change, a conversation has the same list. */
function listOf({ tools }: Conversation): string {
  const known = lists.get(tools) ?? sha256Text(JSON.stringify(tools.map(({ text }) => text)), 'hex').slice(0, 32)
  lists.set(tools, known)
  return known
}
