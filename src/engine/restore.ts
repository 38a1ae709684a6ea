import type { LogRecord } from '../core/records.ts'
import type { Branch } from './branch.ts'
import type { EngineDeps } from './deps.ts'

/** Rebuilds what a branch knew from its log. Runs once, before the branch is first used in a process. */
export async function restoreBranch(deps: EngineDeps, branch: Branch): Promise<void> {
  if (branch.restored) return
  for await (const { record } of deps.sessions.read(branch.tenant, branch.session)) absorb(branch, record)
  branch.restored = true
}

function absorb(branch: Branch, record: LogRecord): void {
  if (record.type === 'item-seen') {
    branch.archived.add(record.identity)
    if (record.chain !== '') branch.sent.add(record.chain)
    return
  }
  // The archive is shared by the agents of a session; what they decided is not.
  if ((record.agent ?? branch.agent) !== branch.agent) return
  if (record.type === 'epoch') {
    branch.epoch = record
    branch.loadAfterEpoch = record.after
  } else if (record.type === 'undo' && branch.epoch?.id === record.epoch) {
    delete branch.epoch
    branch.loadAfterEpoch = 0
  } else if (record.type === 'pin') {
    if (record.pinned) branch.pins.add(record.identity)
    else branch.pins.delete(record.identity)
  } else if (record.type === 'usage') {
    branch.turnCount++
    branch.model = record.model
    if (record.usage !== undefined && record.purpose === 'turn') {
      const { input, output } = record.usage
      branch.last = {
        input,
        output,
        estimated: record.estimated,
        ...(record.epoch !== undefined && { epoch: record.epoch }),
      }
    }
  }
}
