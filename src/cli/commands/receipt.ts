import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import type { Receipt } from '../../core/records.ts'
import { reportOf } from '../../engine/store-admin/session-report.ts'
import { withExamples } from '../kit/examples.ts'
import { print, printTable } from '../kit/output.ts'
import { addStoreOptions, tenantOfSession, withStores, type StoreFlags } from '../stores.ts'

const KINDS: Readonly<Record<keyof Receipt, string>> = {
  demands: 'what people wrote, by lines',
  decisions: 'decisions and reasons of the model, by lines',
  errors: 'errors of commands',
  files: 'files',
  commands: 'commands with an outcome',
  openItems: 'open entries of the plan',
}
const COLUMNS = ['retained', 'recoverable', 'missing', 'stale'] as const

export function receiptCommand(): Command {
  const command = addStoreOptions(new Command('receipt'))
    .argument('<session>', 'name of the session')
    .argument('[id]', 'a compaction (default: the newest in force)')
    .option('--markdown', 'print a Markdown table')
  return withExamples(command, 'plimsoll receipt run-42').action(
    (session: string, id: string | undefined, flags: StoreFlags & { markdown?: boolean }) =>
      withStores(flags, async (stores) => {
        const { epochs } = await reportOf(
          stores.sessions,
          await tenantOfSession(stores, session, flags.tenant),
          session,
        )
        const found = epochs.findLast((epoch) => (id === undefined ? !epoch.undone : epoch.id === id))
        if (found === undefined && id !== undefined)
          throw new PlimsollError('not-found', `${session} has no compaction ${id}.`, {
            advice: `plimsoll sessions show ${session} lists its compactions.`,
          })
        const receipt = found?.receipt
        if (found === undefined || receipt === undefined)
          return print(flags.json, { session, epoch: found?.id ?? null, receipt: null }, () =>
            found === undefined ? 'No compaction is in force.' : `${found.id} was made before receipts were kept.`,
          )
        const rows = Object.entries(KINDS).map(([kind, name]) => {
          const counts = receipt[kind as keyof Receipt]
          return [name, ...COLUMNS.map((column) => String(counts[column]))]
        })
        print(flags.json, { session, epoch: found.id, receipt }, () =>
          flags.markdown === true
            ? [['', ...COLUMNS], ['---', ...COLUMNS.map(() => '--:')], ...rows]
                .map((row) => `| ${row.join(' | ')} |`)
                .join('\n')
            : `Compaction ${found.id}\n${printTable([{ head: '' }, ...COLUMNS.map((head) => ({ head }))], rows)}`,
        )
      }),
  )
}
