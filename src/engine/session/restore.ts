import { RECORD_VERSION, type LogRecord } from '../../core/records.ts'
import type { WriteOptions } from '../../ports/session-store.ts'
import type { EngineDeps } from '../deps.ts'
import type { Branch } from './branch.ts'

/** Takes in what the log holds beyond what the branch knows: all of it at first, then what other processes wrote. */
export async function catchUp(deps: EngineDeps, branch: Branch): Promise<void> {
  const { tenant, session, log } = branch
  // Nearly always there is nothing, and this is the cheapest way to know.
  if ((await deps.sessions.version(tenant, session)) === log.version) return
  for await (const { version, record } of deps.sessions.read(tenant, session, log.version)) {
    absorb(branch, record)
    log.reached(version)
    if (record.type === 'usage') deps.ledger?.restore({ tenant, session, version }, record)
  }
}

/** Appends, and keeps up without reading the same records again. What waited for a write to go with goes first. */
export function appendTo(
  deps: EngineDeps,
  branch: Branch,
  added: readonly LogRecord[],
  options: WriteOptions = {},
): Promise<void> {
  const { log } = branch
  const records = log.seed === undefined ? added : [log.seed, ...added]
  return (records.length <= BATCH ? appendBatch : appendInBatches)(deps, branch, records, options)
}

async function appendInBatches(
  deps: EngineDeps,
  branch: Branch,
  records: readonly LogRecord[],
  options: WriteOptions,
): Promise<void> {
  for (const batch of batchesOf(records)) await appendBatch(deps, branch, batch, options)
}

/** Records that a store takes in at once; more would hold up everybody else who writes. */
const BATCH = 500

/**
 * A first request may have a hundred thousand items. What was decided and what it cost stays together and goes first: items that stand in the log
 * without the decision about them would pass for sent as they are, and a client sends them again.
 */
function batchesOf(records: readonly LogRecord[]): readonly (readonly LogRecord[])[] {
  const items = records.filter(({ type }) => type === 'item-seen')
  const batches: (readonly LogRecord[])[] = [records.filter(({ type }) => type !== 'item-seen')]
  for (let from = 0; from < items.length; from += BATCH) batches.push(items.slice(from, from + BATCH))
  return batches.filter(({ length }) => length > 0)
}

async function appendBatch(
  deps: EngineDeps,
  branch: Branch,
  records: readonly LogRecord[],
  options: WriteOptions,
): Promise<void> {
  const { tenant, session, log } = branch
  const version = await deps.sessions.append(tenant, session, records, undefined, options)
  // Somebody else wrote in between: take theirs in first, in the order of the log.
  if (version !== log.version + records.length) return await catchUp(deps, branch)
  for (const record of records) absorb(branch, record)
  log.reached(version)
}

function absorb({ agent, log, standing, wish }: Branch, record: LogRecord): void {
  const change = log.absorb(record)
  if (change !== undefined) standing.follow(change)
  if ((record.agent ?? agent) !== agent) return
  if (record.type === 'compaction-asked' && record.refusal === undefined) {
    const { instructions } = record
    wish.ask({ isLogged: true, instructions })
  } else if (record.type === 'compaction-asked') wish.answer(record.refusal)
  else if (record.type === 'epoch') wish.answer()
}

/**
 * Fixes in the log what the meter knows when a branch begins. From there on the branch learns from its own usage records
 * only, so that a restarted process, or another proxy, decides exactly as this one would.
 */
export async function seedCalibration(deps: EngineDeps, { tenant, agent, log }: Branch): Promise<void> {
  if (deps.calibrations === undefined || log.calibration !== undefined) return
  const { v, models } = (await deps.calibrations.of(tenant)).state()
  // Not worth a write of its own: it goes before the first record that builds on it.
  log.begin({ v: RECORD_VERSION, at: deps.clock.now(), agent, type: 'calibration', state: { v, models } })
}
