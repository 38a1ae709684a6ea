import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import type { Receipt } from '../../core/records.ts'
import { parsedJson, recordOf } from '../../core/values.ts'
import { reportOf } from '../../engine/store-admin/session-report.ts'
import { DEMO_FORMAT, DEMO_WIRE } from '../../formats/registry.ts'
import { writeChat, type Entry } from '../../formats/wire/chat.ts'
import { createPlimsoll, type Plimsoll } from '../../plimsoll.ts'
import { withExamples } from '../kit/examples.ts'
import { grouped, plainText } from '../kit/figures.ts'
import { print, printTable } from '../kit/output.ts'
import { tokenCount } from '../option-values.ts'
import { addStoreOptions, sessionIn, tenantOfSession, withStores, type StoreFlags, type Stores } from '../stores.ts'

const KINDS: Readonly<Record<keyof Receipt, string>> = {
  demands: 'what people wrote, by lines',
  decisions: 'decisions and reasons of the model, by lines',
  errors: 'errors of commands',
  files: 'files',
  commands: 'commands with an outcome',
  openItems: 'open entries of the plan',
}
const COLUMNS = ['retained', 'recoverable', 'missing', 'stale'] as const

const rowsOf = (receipt: Receipt): string[][] =>
  Object.entries(KINDS).map(([kind, name]) => {
    const counts = receipt[kind as keyof Receipt]
    return [name, ...COLUMNS.map((column) => String(counts[column]))]
  })

/** What a compaction kept, in a table. */
export const receiptText = (receipt: Receipt): string =>
  printTable([{ head: '' }, ...COLUMNS.map((head) => ({ head }))], rowsOf(receipt))

export function receiptCommand(): Command {
  const command = addStoreOptions(new Command('receipt'))
    .argument('[session]', 'name of the session (default: the newest)')
    .argument('[id]', 'a compaction (default: the newest in force)')
    .option('--markdown', 'print a Markdown table')
  return withExamples(command, 'plimsoll receipt run-42').action(
    (named: string | undefined, id: string | undefined, flags: StoreFlags & { markdown?: boolean }) =>
      withStores(flags, async (stores) => {
        const { tenant, session } = await sessionIn(stores, named, flags)
        const { epochs } = await reportOf(stores.sessions, tenant, session)
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
        print(flags.json, { session, epoch: found.id, receipt }, () =>
          flags.markdown === true
            ? [['', ...COLUMNS], ['---', ...COLUMNS.map(() => '--:')], ...rowsOf(receipt)]
                .map((row) => `| ${row.join(' | ')} |`)
                .join('\n')
            : `Compaction ${found.id}\n${receiptText(receipt)}`,
        )
      }),
  )
}

interface CompactFlags extends StoreFlags {
  readonly preview?: boolean
  readonly instructions?: string
  readonly agent?: string
  readonly window?: number
}

export function compactCommand(): Command {
  const command = addStoreOptions(new Command('compact'))
    .argument('<session>', 'name of the session')
    .option('--preview', 'show what a compaction now would leave: the record and its receipt; nothing is changed')
    .option('--instructions <text>', 'what the summary should hold')
    .option('--agent <name>', 'agent within the session (default: main)')
    .option('--window <tokens>', 'with --preview: the window (default: that of the last call)', tokenCount)
  return withExamples(command, 'plimsoll compact run-42 --preview').action((session: string, flags: CompactFlags) =>
    withStores(flags, async (stores) => {
      const tenant = await tenantOfSession(stores, session, flags.tenant)
      const { agent = 'main', instructions } = flags
      const plimsoll = createPlimsoll({ store: stores.sessions, artifacts: stores.artifacts, secret: stores.secret })
      const open = plimsoll.session({ id: session, tenant, agent })
      if (flags.preview !== true) {
        await open.compact({ instructions })
        return print(
          flags.json,
          { session, agent, status: 'with-next-request' },
          () => `${session} is compacted with its next request; plimsoll receipt ${session} then says what was kept.`,
        )
      }
      const request = await storedRequest(stores, tenant, session, agent, flags.window)
      const found = await open.compact({ instructions, request, preview: true })
      print(flags.json, { session, agent, ...found }, () => previewText(found))
    }),
  )
}

/** What a preview shows; text of a transcript must not contain terminal escape sequences. */
export function previewText(found: Awaited<ReturnType<ReturnType<Plimsoll['session']>['compact']>>): string {
  if (found.status === 'nothing') return `Nothing would be compacted: ${found.reason}.`
  if (found.status !== 'preview') return ''
  const { before, after, record, receipt } = found
  const lines = record.flatMap((text) => text.split('\n').map(plainText))
  const kept = receipt === undefined ? [] : ['', receiptText(receipt).trimEnd()]
  return [...lines, ...kept, '', `${grouped(before)} → ${grouped(after)} tokens. Nothing was changed.`].join('\n')
}

/** The conversation as its log holds it. Its system text and tools are not in the log, and are missing here too. */
async function storedRequest(stores: Stores, tenant: string, session: string, agent: string, given?: number) {
  const entries: Entry[] = []
  let model: string | undefined
  let window = given
  const seen = new Set<string>()
  for await (const { record } of stores.sessions.read(tenant, session)) {
    if ((record.agent ?? 'main') !== agent) continue
    if (record.type === 'usage' && record.purpose === 'turn') {
      model = record.model
      window = given ?? record.limit?.window
    }
    if (record.type !== 'item-seen' || record.text === '' || seen.has(record.identity)) continue
    seen.add(record.identity)
    const { kind, text, callId: id = '', toolName: name = 'tool' } = record
    const last = entries.at(-1)
    const said = last?.type === 'assistant' ? last : undefined
    if (kind === 'user') entries.push({ type: 'user', text })
    else if (kind === 'result') entries.push({ type: 'result', callId: id, name, text, isError: false })
    else if (kind === 'assistant' || kind === 'call') {
      const call = { id, name, input: recordOf(parsedJson(text)) ?? { input: text } }
      const before = said ?? { type: 'assistant', text: '', calls: [] }
      const next: Entry =
        kind === 'call'
          ? { ...before, calls: [...before.calls, call] }
          : { ...before, text: [before.text, text].filter((one) => one !== '').join('\n') }
      entries.splice(said === undefined ? entries.length : entries.length - 1, 1, next)
    }
  }
  if (model === undefined || entries.length === 0)
    throw new PlimsollError('not-found', `${session} has no call of agent ${agent} to preview.`, {
      advice: `plimsoll sessions show ${session} lists what it holds.`,
    })
  const body = writeChat(DEMO_WIRE, { model, system: '', tools: [], entries, maxOutputTokens: 1_024 })
  return { format: DEMO_FORMAT, body, targets: [{ model, window }] }
}
