import type { Audit, CalibrationSeed, LogRecord, UsageSeen } from '../../core/records.ts'
import { callOf, isKnownUsage } from '../../meter/index.ts'
import type { WriteOptions } from '../../ports/session-store.ts'
import type { Branch } from './branch.ts'
import type { EngineDeps } from '../deps.ts'
import { formOf } from './archived-forms.ts'
import { rememberHidden } from './hidden-tokens.ts'
import { rememberEdit } from './outbox.ts'
import { calibrationFrom, teach } from './learn.ts'

/** Takes in what the log holds beyond what the branch knows: all of it at first, then what other processes wrote. */
export async function catchUp(deps: EngineDeps, branch: Branch): Promise<void> {
  // Nearly always there is nothing, and this is the cheapest way to know.
  if ((await deps.sessions.version(branch.tenant, branch.session)) === branch.version) return
  for await (const { version, record } of deps.sessions.read(branch.tenant, branch.session, branch.version)) {
    absorb(deps, branch, record)
    branch.version = version
    if (record.type === 'usage') {
      deps.ledger?.restore({ tenant: branch.tenant, session: branch.session, version }, record)
    }
  }
}

/** Appends, and keeps up without reading the same records again. What waited for a write to go with goes first. */
export async function appendTo(
  deps: EngineDeps,
  branch: Branch,
  added: readonly LogRecord[],
  options: WriteOptions = {},
): Promise<void> {
  const records = branch.seed === undefined ? added : [branch.seed, ...added]
  const version = await deps.sessions.append(branch.tenant, branch.session, records, undefined, options)
  // Somebody else wrote in between: take theirs in first, in the order of the log.
  if (version !== branch.version + records.length) return catchUp(deps, branch)
  for (const record of records) absorb(deps, branch, record)
  branch.version = version
}

function absorb(deps: Pick<EngineDeps, 'hash' | 'redact'>, branch: Branch, record: LogRecord): void {
  if (record.type === 'item-seen') {
    // Each agent keeps what it has seen, so that what one may recall never depends on another.
    if ((record.agent ?? branch.agent) !== branch.agent) return
    branch.archived.add(record.identity, formOf(deps, record.fragment))
    if (record.chain !== '') branch.sent.add(record.chain)
    return
  }
  if (record.type === 'audit') return rememberView(branch, record)
  if (record.type === 'edit') {
    branch.heldEdits.add(record.key)
    branch.referenced.add(record.handle)
    return rememberEdit(branch.edits, record)
  }
  if (record.type === 'epoch') branch.heldEpochs.add(record.id)
  if (record.type === 'usage' && record.hidden !== undefined) rememberHidden(branch, record.hidden)
  if (record.type === 'usage') branch.calls.record(callOf(branch.tenant, branch.session, record))
  // The archive is shared by the agents of a session; what they decided is not.
  if ((record.agent ?? branch.agent) !== branch.agent) return
  if (record.type === 'epoch' || record.type === 'undo') delete branch.trail
  if (record.type === 'epoch') branch.epoch = record
  else if (record.type === 'undo') {
    if (branch.epoch?.id === record.epoch) delete branch.epoch
    branch.undone.add(record.epoch)
  } else if (record.type === 'pin') {
    if (record.pinned) branch.pins.add(record.identity)
    else branch.pins.delete(record.identity)
  } else if (record.type === 'calibration') absorbSeed(branch, record)
  else if (record.type === 'usage') absorbUsage(branch, record)
}

/** The first one in the log counts, whoever wrote it; ours may have been waiting when another process was faster. */
function absorbSeed(branch: Branch, record: CalibrationSeed): void {
  if (branch.calibration !== undefined && branch.seed === undefined) return
  branch.calibration = calibrationFrom(record.state)
  delete branch.seed
}

function absorbUsage(branch: Branch, record: UsageSeen): void {
  if (record.purpose !== 'turn') return
  if (branch.calibration !== undefined) teach(branch.calibration, branch.last, record)
  branch.turnCount = Math.max(branch.turnCount, Number(record.turn.split('-')[1] ?? 0))
  branch.model = record.model
  if (record.limit !== undefined) branch.limit = record.limit
  const { usage, measured, epoch, endpoint } = record
  if (measured !== undefined)
    branch.issuers.set(measured.chain, { model: record.model, ...(endpoint !== undefined && { endpoint }) })
  // Some servers report zeros for what they did not count; as a measurement that would be an empty window.
  if (!isKnownUsage(usage) || measured === undefined) return
  branch.cacheIsWarm = usage.cacheRead > 0
  branch.last = {
    at: record.at,
    model: record.model,
    prompt: usage.input,
    output: usage.output,
    reasoning: usage.reasoning,
    rawTokens: record.estimated,
    ...measured,
    ...(endpoint !== undefined && { endpoint }),
    ...(epoch !== undefined && { epoch }),
  }
}

const MOST_VIEWS = 1_000

/** A view that comes back in a request is known for one in every process that reads the log. */
function rememberView({ views }: Branch, { view, handle }: Audit): void {
  if (view === undefined || handle === undefined) return
  views.set(view, [handle])
  if (views.size > MOST_VIEWS) views.delete(views.keys().next().value!)
}
