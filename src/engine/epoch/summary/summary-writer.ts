import { messageOf } from '../../../core/values.ts'
import type { EpochEdit } from '../../../core/records.ts'
import type { CallPlan } from '../../../meter/index.ts'
import { type Summarizer, type SummaryAnswer, summaryAnswerOf } from '../../../ports/summarizer.ts'
import { storeTexts } from '../../session/log.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import { textTokensOf, fixedCountOf, tokensOf } from '../../prepare/counting.ts'
import { payForCall } from '../../spending/calls.ts'
import { deadlineAfter, withDeadline } from '../../../util/deadline.ts'
import { transcriptWithin, withInstructions } from './transcript.ts'
import type { Proposal, SummaryAsk } from '../cascade/draft.ts'
import type { ModelResponse } from '../../../core/codec.ts'
import type { Conversation } from '../../../core/conversation.ts'
import { changeEnvelope } from '../../../core/edits.ts'
import type { Item } from '../../../core/item.ts'
import { cutsOf, turnsOf } from '../../../core/turns.ts'
import { standingCache } from '../../prepare/cache.ts'
import { brokenByUs } from '../../prepare/outgoing.ts'
import { visitIdentifiers, type IdentifierKind } from '../../../core/quotes.ts'

/** Unless the policy says otherwise, models have this long for one reduction. */
const TIME_MS = 30_000
const CALLS = 3
/** The summarizer's own request leaves this much of its window free. */
const INPUT_SHARE = 0.8

/** Puts a model's words in the place of code's, where a plan asks for them, the answer is sound and the result fits. */
export type SummaryWriter = (proposal: Proposal, fits: (proposal: Proposal) => boolean) => Promise<Proposal>

/** One way to a model. */
interface Way {
  readonly name: string
  ask(ask: SummaryAsk, signal: AbortSignal): Promise<SummaryAnswer>
}

/** The ways that are open for this summary, the better one first. */
function waysFor(context: PrepareContext, before: View, ask: SummaryAsk): Way[] {
  const { target, emit, deps } = context
  const { summarizer } = deps
  const ways: Way[] = []
  if (mayGoInBand(context)) {
    const request = inBandRequest(context, before, ask)
    if ('reason' in request) emit({ type: 'warning', topic: 'summary', message: `Not in band: ${request.reason}.` })
    else
      ways.push({
        name: 'in band',
        ask({ maxOutputTokens }, signal) {
          const plan = { inputHigh: before.load.count.high, maxOutputTokens }
          return paid(context, { name: target.model }, plan, () => askInBand(context, request, signal))
        },
      })
  }
  if (summarizer !== undefined)
    ways.push({ name: summarizer.name, ask: (asked, signal) => askOutOfBand(context, summarizer, asked, signal) })
  return ways
}

/** Asks with a prompt of its own. Of a history that does not fit the oldest lines are left out and counted. */
async function askOutOfBand(
  context: PrepareContext,
  summarizer: Summarizer,
  { system: own, instructions, prompt: around, items, maxOutputTokens }: SummaryAsk,
  signal: AbortSignal,
): Promise<SummaryAnswer> {
  const count = textTokensOf(context)
  const system = withInstructions(own, instructions)
  const room = Math.floor(summarizer.window * INPUT_SHARE) - maxOutputTokens - count(system) - count(around(''))
  const transcript = transcriptWithin(items, room, count)
  // A style that reads only what people said may find nothing, and providers refuse an empty message.
  if (transcript === '') throw new NotAsked('there is nothing to read')
  const prompt = around(transcript)
  const plan = { inputHigh: count(system) + count(prompt), maxOutputTokens }
  return paid(context, summarizer, plan, () => summarizer.summarise({ system, prompt, maxOutputTokens, signal }))
}

async function paid(
  context: PrepareContext,
  model: Pick<Summarizer, 'name' | 'model'>,
  plan: CallPlan,
  ask: () => Promise<SummaryAnswer>,
): Promise<SummaryAnswer> {
  const call = await payForCall(context, model, plan)
  if (call === undefined) throw new NotAsked('no budget is left for it')
  return call.made(ask)
}

/**
 * Asks a model, at most as often as the policy allows and no longer than it has time, whatever the number of plans. An answer that is
 * cut, empty, refusing, calling tools, as long as its source or without the facts that code carries does not enter; what code wrote
 * then serves. `before`: the view that the provider's cache knows.
 */
export function summaryWriter(context: PrepareContext, before: View, isModelFree: boolean): SummaryWriter {
  const { deps, branch, inBackground, emit } = context
  const { passes = CALLS, timeMs = TIME_MS, summaries = {} } = deps.policy
  const count = textTokensOf(context)
  const hasModel = !isModelFree && (deps.summarizer !== undefined || mayGoInBand(context))
  let callsLeft = summaries.calls ?? passes
  const down = new Set<string>()
  let deadline: AbortSignal | undefined

  async function write(ask: SummaryAsk, take: (text: string) => boolean): Promise<void> {
    deadline ??= deadlineAfter(timeMs, inBackground?.signal)
    const ways = waysFor(context, before, ask).filter(({ name }) => !down.has(name))
    let repaired: SummaryAsk | undefined
    while (ways.length > 0 && callsLeft > 0 && !deadline.aborted) {
      const way = ways[0]!
      callsLeft--
      const outcome = await askOnce(way, repaired ?? ask, deadline)
      if ('text' in outcome && take(outcome.text)) return
      const reason = 'text' in outcome ? 'the request does not fit with it' : outcome.reason
      emit({ type: 'summary-rejected', reason })
      // The next answer is asked for with what is wrong with this one; when the calls are used up, what code wrote serves.
      if ('isWrong' in outcome)
        repaired = {
          ...ask,
          system: `${ask.system}\nYour last answer could not be used: ${reason}. Write it again, from this conversation alone.`,
        }
      // Asking again helps against a bad answer, not against a summarizer that is down.
      if (!('isDown' in outcome)) continue
      ways.shift()
      down.add(way.name)
    }
  }

  async function askOnce(way: Way, ask: SummaryAsk, signal: AbortSignal): Promise<Outcome> {
    try {
      const answer = await withDeadline(way.ask(ask, signal), signal)
      const text = ask.wrap(answer.text.trim())
      const isTooLong = count(text) >= ask.sourceTokens
      const reason = faultOf(answer, { text, carried: ask.carried, isTooLong })
      if (reason !== undefined) return { reason }
      const wrong = accountFault(answer.text, ask.history)
      return wrong === undefined ? { text } : { reason: wrong, isWrong: true }
    } catch (error) {
      if (error instanceof NotAsked) return { reason: error.message, isDown: true }
      const cause = messageOf(error)
      emit({ type: 'degraded', what: `summarizer ${way.name}`, cause })
      return { reason: `the summarizer failed: ${cause}`, isDown: true }
    }
  }

  return async (proposal, fits) => {
    let written = proposal
    for (const ask of hasModel ? (proposal.asks ?? []) : []) {
      // What would not fit without a word of it is not worth a call.
      if (callsLeft <= 0 || !fits(withText(written, ask.text, ''))) continue
      // Stored before a model is asked, so that what code wrote can be read even if the model's words take its place.
      if (inBackground === undefined) await storeTexts(deps, branch, [{ text: ask.text }])
      await write(ask, (text) => {
        const candidate = withText(written, ask.text, text)
        if (!fits(candidate)) return false
        written = candidate
        return true
      })
    }
    return written
  }
}

const mayGoInBand = ({ deps, send }: PrepareContext): boolean =>
  deps.policy.summaries?.via === 'in-band' && send !== undefined

const withText = (proposal: Proposal, before: string, text: string): Proposal => ({
  ...proposal,
  edits: proposal.edits.map((edit): EpochEdit =>
    edit.op === 'insert' && edit.text === before ? { ...edit, text } : edit,
  ),
})

type Outcome =
  | { readonly text: string }
  | { readonly reason: string; readonly isDown?: true }
  /** A summary in form, but of something else. */
  | { readonly reason: string; readonly isWrong: true }

/** Budgets leave nothing for a call of ours, or there is nothing to ask about. */
class NotAsked extends Error {}

/** Cuts of the history that are tried; what none of these makes valid is left to another way. */
const CUTS = 4

export type InBand =
  | { readonly body: string; readonly headers: Readonly<Record<string, string>> }
  /** Why the prefix cannot be used. */
  | { readonly reason: string }

/**
 * The request at hand with one instruction behind its history: the provider reads its cache up to there. The newest steps stay out
 * where they would not fit; what the summary stands for is always in.
 */
function inBandRequest(context: PrepareContext, before: View, ask: SummaryAsk): InBand {
  const { conversation } = before
  const { settings } = context.conversation
  if (settings.shapesAnswer === true) return { reason: 'the request decides the form of its answer' }
  if (settings.previousResponseId !== undefined || settings.conversationId !== undefined)
    return { reason: 'the provider holds a part of the history' }
  if (!isWarm(context)) return { reason: 'the provider’s cache is cold' }
  const instruction: Item = { id: 'summary', kind: 'user', role: 'user', text: instructionOf(ask), message: -1 }
  const maxOutputTokens = ask.maxOutputTokens + (settings.thinkingBudget ?? 0)
  for (const cut of cutsFor(context, before, ask, maxOutputTokens, instruction)) {
    const shorter: Conversation = { ...conversation, items: [...conversation.items.slice(0, cut), instruction] }
    const asked = changeEnvelope(shorter, { maxOutputTokens, forbidTools: true })
    const body = context.codec.encode(asked).text
    if (Buffer.byteLength(body) <= context.limit.bytes && brokenByUs(context, body) === undefined)
      return { body, headers: before.headers }
  }
  return { reason: 'the prefix does not fit with the instruction and the answer' }
}

async function askInBand(
  context: PrepareContext,
  { body, headers }: Exclude<InBand, { reason: string }>,
  signal: AbortSignal,
): Promise<SummaryAnswer> {
  const answer = await context.send!({ body, headers, signal })
  const response: ModelResponse = 'body' in answer ? context.codec.readResponse(answer.body) : answer
  return summaryAnswerOf(response)
}

const instructionOf = ({ system, instructions }: SummaryAsk): string =>
  withInstructions(
    `Stop working for one answer: the older part of this conversation is about to leave the context window. ${system}`,
    instructions,
  ) + '\nAnswer with the summary alone. Call no tool.'

/** The last measured call was on this model, is part of this history, and not so long ago that its cache is gone. */
function isWarm(context: PrepareContext): boolean {
  const { branch, links } = context
  const chain = branch.log.measured?.chain
  return standingCache(context)?.state === 'warm' && links.some((link) => link.chain === chain)
}

/** Ends of whole steps behind everything that is folded, the longest that fits first. */
function cutsFor(
  context: PrepareContext,
  { conversation: { items }, load }: View,
  { folded }: SummaryAsk,
  maxOutputTokens: number,
  instruction: Item,
): number[] {
  const { limit } = context
  const turns = turnsOf(items)
  const ids = new Set(folded.map(({ id }) => id))
  const least = items.findLastIndex(({ id }) => ids.has(id)) + 1
  const pendingFrom = turns.steps.find(({ pending }) => pending)?.from ?? items.length
  const count = tokensOf(context)
  const sums = [fixedCountOf(context).high]
  for (const item of items) sums.push(sums.at(-1)! + count(item))
  // The items' upper bounds add up to more than the view's, most of which was measured.
  const share = Math.min(1, load.count.high / sums.at(-1)!)
  const room = limit.tokens + limit.outputReserve - maxOutputTokens - textTokensOf(context)(instruction.text)
  return cutsOf(turns)
    .filter((cut) => cut > 0 && cut >= least && cut <= pendingFrom && sums[cut]! * share <= room)
    .slice(-CUTS)
    .reverse()
}

/** Longer answers than this that begin like a refusal have more to say than that. */
const REFUSAL_CHARACTERS = 400
const REFUSAL =
  /^\W*(?:i(?:\s+am|['’]m)\s+(?:sorry|unable|not\s+able)|(?:i\s+)?(?:apologi[sz]e|sorry)|i\s+(?:cannot|can\s?not|can['’]t|won['’]t|will\s+not|must\s+decline)|as\s+an?\s+(?:ai|language\s+model))\b/i

export interface Standard {
  /** The answer in its place: with its frame and what code carries. */
  readonly text: string
  /** What must stand in it word for word. */
  readonly carried: readonly string[]
  /** As long as what it stands for. */
  readonly isTooLong: boolean
}

/** Why an answer is no summary; undefined when it is one. */
function faultOf(
  { text, stop, toolCalls = 0 }: SummaryAnswer,
  { text: placed, carried, isTooLong }: Standard,
): string | undefined {
  const said = text.trim()
  if (toolCalls > 0) return 'it calls tools'
  if (stop === 'refusal' || (said.length <= REFUSAL_CHARACTERS && REFUSAL.test(said))) return 'the model refused'
  if (said === '') return 'it is empty'
  if (stop !== 'end') return `it stopped for ${stop}`
  if (carried.some((fact) => !placed.includes(fact))) return 'it lost facts that code carries'
  return isTooLong ? 'it is as long as what it stands for' : undefined
}

/** Names that a model may get wrong before its account counts as invented. */
const INVENTED_LEAST = 3
const INVENTED_SHARE = 0.34
/** An account with so few terms says too little for a share of them to mean much. */
const FEW_TERMS = 12
/**
 * Of an account's terms, this share was spoken of before. Fourteen summaries that Claude Code wrote of recorded sessions have 0.77 to 0.93 of them
 * even without their names; of encyclopaedia paragraphs in the same language, 95 of 100 stay below 0.57, since any two texts share common words.
 */
const SHARE_OF_FEW = 0.34
const SHARE_OF_MANY = 0.6
/** Names of the conversation that show what a longer account is about: a single one, such as a product's, stands in many texts. */
const NAMES_OF_MANY = 2
/** A history that uses fewer names than this has none to remind of. */
const NAMES_LEAST = 5
const QUOTED = 8

/** What is wrong with a model's account of a history: it speaks of something else, or of things that never occurred. */
export function accountFault(account: string, items: readonly Item[]): string | undefined {
  const known = knownNames(items)
  const used = namesIn(account)
  const claims = [...used].filter(([name, kind]) => isClaim(name, kind)).map(([name]) => name)
  const words = termsOf(items.map(({ text }) => text))
  const invented = claims.filter((name) => !known.has(name) && !isMadeOf(name, words))
  if (invented.length >= INVENTED_LEAST && invented.length > INVENTED_SHARE * claims.length)
    return `it names what does not occur in the conversation: ${invented.slice(0, QUOTED).join(', ')}`
  const named = [...used].filter(([name, kind]) => (kind === 'symbol' || isClaim(name, kind)) && known.has(name)).length
  const said = [...termsOf([account])]
  if (named >= (said.length <= FEW_TERMS ? 1 : NAMES_OF_MANY)) return undefined
  const own = items.filter(({ kind }) => kind !== 'result' && kind !== 'opaque')
  const spoken = termsOf(own.map(({ text, toolName = '' }) => `${toolName} ${text}`))
  const shared = said.filter((term) => spoken.has(term)).length
  if (shared > 0 && shared >= (said.length <= FEW_TERMS ? SHARE_OF_FEW : SHARE_OF_MANY) * said.length) return undefined
  return known.newest.length >= NAMES_LEAST
    ? `it names nothing of what happened, such as ${known.newest.slice(-QUOTED).join(', ')}`
    : 'it speaks of something else'
}

function knownNames(items: readonly Item[]): { has(name: string): boolean; readonly newest: readonly string[] } {
  const names = new Set<string>()
  for (const { text } of items) visitIdentifiers(text, (name) => names.add(name))
  const endings = new Set([...names].flatMap(endingsOf))
  return {
    /** `src/a.ts` for `/repo/src/a.ts`: an account may shorten what it names, or say where it is. */
    has: (name) => endings.has(name) || endingsOf(name).some((ending) => names.has(ending)),
    /** In order of their first appearance. */
    newest: [...names],
  }
}

/** A name and what is left of it without its first folders. */
const endingsOf = (name: string): string[] => {
  const parts = name.split('/')
  return parts.slice(0, MOST_PARTS).map((_, from) => parts.slice(from).join('/'))
}

/** Names come from outside, and may be of any length. */
const MOST_PARTS = 32

function namesIn(text: string): Map<string, IdentifierKind> {
  const names = new Map<string, IdentifierKind>()
  visitIdentifiers(text, (name, kind) => names.set(name, kind))
  return names
}

/**
 * Whether a name can only come from the conversation. Sums and dates, headings in capitals, `GitHub`, `end-to-end` and `read/write/run` look like
 * names and are a writer's own words.
 */
function isClaim(name: string, kind: IdentifierKind): boolean {
  if (kind === 'number') return false
  if (kind === 'code') return /\d/.test(name)
  if (kind === 'path') return name.startsWith('/') || name.includes('.')
  return kind === 'hash' || /[_$.]|::|\d/.test(name) || /^[a-z]+[A-Z]/.test(name)
}

/** A next step names what is to be made: of words that were spoken of (`setCookie`, `src/auth/cookie.ts`), it is no invention. */
function isMadeOf(name: string, words: ReadonlySet<string>): boolean {
  const parts = [...termsOf([name])]
  return parts.length > 0 && parts.every((part) => words.has(part))
}

/** Enough letters to tell a word by, whatever its ending: `test`, `tests` and `tested` are one term, and so is a German `Test`. */
const STEM = 4
/** Words that any two texts share, as stems. */
const COMMON = new Set(
  (
    'abou abov acco afte agai agen also beca been befo bein belo betw coul deci does doin done down duri each else ever find firs from have havi here inte into just last ' +
    'like made make many more most much must need next none noth only othe over plea same shou some stat step summ such take than that thei them then ther thes they this ' +
    'thos thro time unde unti used user uses very want were what when wher whic whil will with work woul your'
  ).split(' '),
)
const WORD = /\p{L}{4,}/gu
/** Scripts that are written without spaces: two characters are a term. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{2,}/gu
const HUMP = /(\p{Ll})(\p{Lu})/gu

/** What texts speak of: the beginnings of their words, names taken apart, without what every text says. */
function termsOf(texts: readonly string[]): Set<string> {
  const terms = new Set<string>()
  for (const text of texts) {
    for (const [run] of text.matchAll(UNSPACED)) for (let i = 1; i < run.length; i++) terms.add(run.slice(i - 1, i + 1))
    for (const [word] of text.replace(HUMP, '$1 $2').matchAll(WORD)) {
      if (UNSPACED_START.test(word)) continue
      const stem = word.slice(0, STEM).toLowerCase()
      if (!COMMON.has(stem)) terms.add(stem)
    }
  }
  return terms
}

const UNSPACED_START = new RegExp(`^${UNSPACED.source}`, 'u')
