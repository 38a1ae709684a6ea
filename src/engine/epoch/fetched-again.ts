import type { Item } from '../../core/item.ts'
import type { Epoch, UsageSeen } from '../../core/records.ts'
import { tokensOf } from '../prepare/counting.ts'
import type { PrepareContext } from '../prepare/context.ts'
import { wasSent } from '../session/branch.ts'
import { callLine, commandOf, pathOf } from './record/calls.ts'
import { changesOf } from './record/changes.ts'
import { lineKey } from './record/excerpts.ts'
import { takenBy } from './record/record-recall.ts'

/** What a compaction took out counts as fetched again within so many answers of the model. */
const ANSWERS = 30
const READERS = /^(?:recall$|artifact_)/

/** Lines of the results that an epoch took out of view, by what was called. */
const known = new WeakMap<Epoch, ReadonlyMap<string, ReadonlySet<string>>>()

/**
 * Results of this request that bring back what the standing compaction took out: the same file, command or search again, or one of our readers.
 * Tokens are those of the lines that both hold. Only what was not sent before is looked at. Each is told as an event; the sum is for the log.
 */
export function tellFetchedAgain(context: PrepareContext, epoch: Epoch | undefined): UsageSeen['fetchedAgain'] {
  const { branch, conversation, links, deps, target, emit } = context
  if (epoch === undefined) return undefined
  const { items } = conversation
  const declaredAt = epoch.declaredAt?.count ?? epoch.count
  const from = links[declaredAt]?.index ?? items.length
  let place = links.length
  while (place > declaredAt && !wasSent(branch, links[place - 1]!.chain)) place--
  const answers = new Set(items.slice(from).flatMap(({ role, message }) => (role === 'assistant' ? [message] : [])))
  if (answers.size === 0 || answers.size > ANSWERS) return undefined
  let all: UsageSeen['fetchedAgain']
  const taken = known.get(epoch) ?? takenLines(takenBy(conversation, links, epoch.edits))
  known.set(epoch, taken)
  const calls = new Map(
    items.slice(from).flatMap((item) => (item.kind === 'call' ? [[item.callId, item] as const] : [])),
  )
  const count = tokensOf(context)
  const price = deps.catalogue.resolve(target.model).info.price?.input
  for (const item of items.slice(links[place]?.index ?? items.length)) {
    const call = item.kind === 'result' ? calls.get(item.callId) : undefined
    if (call === undefined) continue
    const isReader = READERS.test(call.toolName ?? '')
    const old = isReader ? undefined : taken.get(keyOf(call))
    if (!isReader && old === undefined) continue
    const lines = item.text.split('\n').map(lineKey)
    const again = old === undefined ? lines.length : lines.filter((line) => old.has(line)).length
    const tokens = Math.round((count(item) * again) / lines.length)
    if (tokens === 0) continue
    const costUsd = price === undefined ? undefined : (tokens * price) / 1_000_000
    const by = isReader ? 'reader' : 'call'
    emit({ type: 'fetched-again', epoch: epoch.id, by, tool: call.toolName, tokens, costUsd })
    all = {
      epoch: epoch.id,
      results: (all?.results ?? 0) + 1,
      tokens: (all?.tokens ?? 0) + tokens,
      costUsd: (all?.costUsd ?? 0) + (costUsd ?? 0),
    }
  }
  return all
}

/** A file by its path, whichever part of it is read. */
const keyOf = (call: Item): string => pathOf(call) ?? commandOf(call) ?? callLine(call)

function takenLines(items: readonly Item[]): ReadonlyMap<string, ReadonlySet<string>> {
  const calls = new Map(items.flatMap((item) => (item.kind === 'call' ? [[item.callId, item] as const] : [])))
  const lines = new Map<string, Set<string>>()
  for (const item of items) {
    const call = item.kind === 'result' ? calls.get(item.callId) : undefined
    if (call === undefined || changesOf(call).length > 0) continue
    const ofCall = lines.get(keyOf(call)) ?? new Set<string>()
    lines.set(keyOf(call), ofCall)
    for (const line of item.text.split('\n')) ofCall.add(lineKey(line))
  }
  return lines
}
