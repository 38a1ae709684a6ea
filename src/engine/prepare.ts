import { chainOf, type Link } from '../core/chain.ts'
import type { Codec } from '../core/codec.ts'
import type { Conversation } from '../core/conversation.ts'
import { applyEdits, type Plan } from '../core/edits.ts'
import { exactAnchors } from '../core/epochs.ts'
import { PlimsollError } from '../core/errors.ts'
import type { EventBody } from '../core/events.ts'
import { CLAUDE_CODE } from '../core/identity.ts'
import type { Item } from '../core/item.ts'
import type { Epoch } from '../core/records.ts'
import type { Limit, Load, Target, Verdict } from '../core/target.ts'
import { logRequest, storeTexts } from './archive.ts'
import type { Branch } from './branch.ts'
import { storedText } from './cascade/draft.ts'
import { declareEpoch } from './declare-epoch.ts'
import type { EngineDeps } from './deps.ts'
import { proposeFirstSend, type NewEdit } from './first-send.ts'
import { largestParts } from './largest-parts.ts'
import { settleStanding } from './settle-standing.ts'
import { standingPlan, type Standing } from './standing.ts'

export interface PrepareRequest {
  readonly format: string
  /** The request's text (byte-exact) or an object. */
  readonly body: string | object
  readonly targets?: readonly Target[]
}

export interface PreparedTurn {
  readonly id: string
  /** Ready to send, in the wire it came in. An object came in → an object goes out. */
  readonly body: string | object
  /** The same as text. */
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly verdict: Verdict
  readonly load: Load
  readonly limit: Limit
  readonly edits: Plan
  readonly epoch?: string
  readonly report: PrepareReport
}

export interface PrepareReport {
  /** True when the bytes that leave are the bytes that came in. */
  readonly untouched: boolean
  readonly loadBefore: number
  readonly loadAfter: number
  readonly newEpoch?: { readonly id: string; readonly forced: boolean; readonly covered: number }
  readonly shortened: readonly { readonly itemId: string; readonly handle: string; readonly originalBytes: number }[]
  /** Above low water although a reduction ran; no error. */
  readonly tight: boolean
}

/** decode → standing edits → first-send edits → measure → epoch if needed → validate → log → encode. */
export async function prepare(deps: EngineDeps, branch: Branch, request: PrepareRequest): Promise<PreparedTurn> {
  const codec = codecFor(deps, request.format)
  const text = typeof request.body === 'string' ? request.body : JSON.stringify(request.body)
  const conversation = codec.decode(text)
  const { items } = conversation
  const target = request.targets?.[0] ?? { model: conversation.settings.model ?? 'unknown' }
  const limit = deps.meter.limitOf(target, conversation.settings, deps.policy.buffer)
  const links = chainOf(items, deps.hash, CLAUDE_CODE)
  const emit = (body: EventBody): void =>
    deps.emit({ ...body, at: deps.clock.now(), tenant: branch.tenant, session: branch.session, agent: branch.agent })

  const standing = await settleStanding(deps, branch, items, links, emit)
  const newEdits = await newFirstSendEdits(deps, branch, target, limit, items, links, standing)
  await storeTexts(
    deps,
    branch,
    newEdits.map((edit) => storedText(items[edit.index]!)),
  )
  const firstSend = new Map([...standing.firstSend, ...newEdits.map((edit) => [edit.index, edit.record] as const)])

  const settled: Standing = { ...standing, firstSend }
  let plan = standingPlan(settled, items, links)
  let view = applyEdits(conversation, plan)
  let load = measure(deps, target, codec, view, text, plan)
  const loadBefore = load.count.high
  let declared: Epoch | undefined
  if (needsEpoch(deps, branch, load, limit)) {
    const forced = isOver(load, limit)
    declared = await declareEpoch(deps, branch, {
      target,
      limit,
      conversation,
      links,
      standing: settled,
      forced,
      loadBefore,
    })
    if (declared !== undefined) {
      plan = standingPlan({ epoch: declared, anchors: exactAnchors(declared), firstSend }, items, links)
      view = applyEdits(conversation, plan)
      load = measure(deps, target, codec, view, text, plan)
      branch.epoch = declared
      branch.loadAfterEpoch = load.count.high
      const { id, reason } = declared
      emit({
        type: 'epoch-declared',
        epoch: id,
        forced,
        reason,
        before: loadBefore,
        after: load.count.high,
        covered: declared.count,
      })
    }
  }
  const epochId = declared?.id ?? standing.epoch?.id
  if (isOver(load, limit)) throw tooLarge(deps, target, view, load, limit)

  const outgoing = plan.length === 0 ? text : codec.encode(view).text
  if (plan.length > 0) validate(codec, outgoing, text, target)
  await logRequest(deps, branch, codec, conversation, links, newEdits)

  const turn = openTurn(deps, branch, target, request.format, load, epochId)
  for (const link of links) branch.sent.add(link.chain)
  branch.model = target.model
  const tight = declared !== undefined && load.count.high > deps.policy.water.low * limit.tokens
  const verdict: Verdict = {
    kind: 'proceed',
    target,
    reason: 'fits',
    projected: load.count.high,
    limit: limit.tokens,
    margin: limit.tokens - load.count.high,
  }
  emit({
    type: 'request-prepared',
    load: load.count.high,
    limit: limit.tokens,
    bytes: load.bytes,
    verdict: verdict.kind,
    edits: plan.length,
    tight,
  })
  return {
    id: turn,
    body: typeof request.body === 'string' ? outgoing : (JSON.parse(outgoing) as object),
    text: outgoing,
    headers: {},
    verdict,
    load,
    limit,
    edits: plan,
    ...(epochId !== undefined && { epoch: epochId }),
    report: {
      untouched: plan.length === 0,
      loadBefore,
      loadAfter: load.count.high,
      ...(declared !== undefined && {
        newEpoch: { id: declared.id, forced: declared.forced, covered: declared.count },
      }),
      shortened: newEdits.map((edit) => ({
        itemId: items[edit.index]!.id,
        handle: edit.record.handle,
        originalBytes: Buffer.byteLength(edit.original),
      })),
      tight,
    },
  }
}

function codecFor(deps: EngineDeps, format: string): Codec {
  const codec = deps.codecs.get(format)
  if (codec === undefined) {
    throw new PlimsollError('unsupported', `There is no codec for ${JSON.stringify(format)}.`, {
      advice: `Known formats: ${[...deps.codecs.keys()].join(', ')}.`,
    })
  }
  return codec
}

async function newFirstSendEdits(
  deps: EngineDeps,
  branch: Branch,
  target: Target,
  limit: Limit,
  items: readonly Item[],
  links: readonly Link[],
  standing: Standing,
): Promise<NewEdit[]> {
  const { intake } = deps.policy
  const maxTokens = intake.maxShare * limit.tokens
  const tokensOf = (item: Item): number => deps.meter.countItem(target.model, item).high
  // Only results large enough to matter need the question whether they were sent before.
  const large = links.filter((link) => {
    const item = items[link.index]!
    return (
      item.kind === 'result' &&
      !standing.firstSend.has(link.index) &&
      !branch.sent.has(link.chain) &&
      tokensOf(item) > maxTokens
    )
  })
  if (large.length === 0) return []
  const seen = await deps.sessions.seen(
    branch.tenant,
    large.map((link) => link.identity),
  )
  return proposeFirstSend({
    items,
    links: large,
    wasSent: (link) => seen.has(link.identity),
    hasEdit: (index) => standing.firstSend.has(index),
    tokensOf,
    countText: (text) => deps.meter.countText(target.model, text).high,
    handleOf: (text) => deps.addressOf(branch.tenant, Buffer.from(text)),
    present: deps.present,
    readers: [],
    maxTokens,
    previewTokens: intake.previewShare * limit.tokens,
    now: deps.clock.now(),
  })
}

function measure(deps: EngineDeps, target: Target, codec: Codec, view: Conversation, text: string, plan: Plan): Load {
  const bytes = Buffer.byteLength(plan.length === 0 ? text : codec.encode(view).text)
  return deps.meter.measure(target.model, view, bytes)
}

const isOver = (load: Load, limit: Limit): boolean => load.count.high > limit.tokens || load.bytes > limit.bytes

function needsEpoch(deps: EngineDeps, branch: Branch, load: Load, limit: Limit): boolean {
  if (isOver(load, limit)) return true
  const { water } = deps.policy
  if (load.count.high <= water.high * limit.tokens) return false
  return branch.loadAfterEpoch === 0 || load.count.high - branch.loadAfterEpoch >= water.rest * limit.tokens
}

/** A rule that the client's own bytes already broke is the provider's to report; one that we broke must not leave. */
function validate(codec: Codec, outgoing: string, incoming: string, target: Target): void {
  const broken = codec.check(JSON.parse(outgoing), { model: target.model })
  if (broken.length === 0) return
  const before = new Set(codec.check(JSON.parse(incoming), { model: target.model }).map((violation) => violation.rule))
  const ours = broken.find((violation) => !before.has(violation.rule))
  if (ours === undefined) return
  throw new PlimsollError(
    'invalid-request',
    `The reduced request breaks ${ours.rule} at ${ours.path}: ${ours.message}`,
    {
      advice: 'This is a defect of Plimsoll; the original request was not changed.',
      fields: { violations: broken },
    },
  )
}

function tooLarge(deps: EngineDeps, target: Target, view: Conversation, load: Load, limit: Limit): PlimsollError {
  const parts = largestParts(view, (item) => deps.meter.countItem(target.model, item).tokens)
  const named = parts.map((part) => `${part.what} (${part.tokens.toLocaleString('en')})`).join(', ')
  return new PlimsollError(
    'fixed-overhead',
    `The context needs ${Math.ceil(load.count.high).toLocaleString('en')} tokens and ${limit.tokens.toLocaleString('en')} fit, ` +
      `although everything that may be reduced was. Largest parts: ${named}.`,
    {
      advice:
        'Shorten the instructions or tools, unpin items, lower the output reserve, or choose a model with a larger window.',
      fields: {
        needed: Math.ceil(load.count.high),
        limit: limit.tokens,
        window: limit.window,
        bytes: load.bytes,
        parts,
      },
    },
  )
}

function openTurn(
  deps: EngineDeps,
  branch: Branch,
  target: Target,
  format: string,
  load: Load,
  epoch: string | undefined,
): string {
  const id = `turn-${++branch.turnCount}`
  branch.turns.set(id, {
    id,
    model: target.model,
    format,
    estimated: load.count.tokens,
    startedAt: deps.clock.now(),
    ...(target.endpoint !== undefined && { endpoint: target.endpoint }),
    ...(epoch !== undefined && { epoch }),
  })
  return id
}
