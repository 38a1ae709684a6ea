import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { loadConfig } from '../../settings/index.ts'
import { createPlimsoll } from '../../plimsoll.ts'
import { memoryArtifacts } from '../../drivers/artifacts/memory.ts'
import { liveEvents } from '../../drivers/live-events.ts'
import { withoutPassword } from '../../drivers/open-store.ts'
import { memoryStore } from '../../drivers/sessions/memory.ts'
import type { LoadOptions, Recording } from '../../lab/transcripts/recording.ts'
import type { DashboardOptions } from '../../dashboard/open-dashboard.ts'
import { REPLAY_SECRET, replaySession } from '../../lab/replay/replay.ts'
import { serveWithPage } from '../open-proxy.ts'
import { createEventHub, type EventHub } from '../../gateway/operate/control.ts'
import { knownModels } from '../catalogue.ts'
import { policySettings, sourceIn } from '../config-settings.ts'
import { withExamples } from '../kit/examples.ts'
import { printError } from '../kit/output.ts'
import { tokenCount, portNumber } from '../option-values.ts'
import { addStoreOptions, type StoreFlags, withStores } from '../stores.ts'
import { addLoadOptions, findFiles, loadFiles } from '../reports/recordings.ts'
import { replayReport } from '../reports/replay.ts'

interface DashboardFlags extends StoreFlags, LoadOptions {
  readonly port: number
  readonly window: number
  readonly policy: string
  readonly model?: string
  readonly clock: boolean
  readonly config?: string
}

export function dashboardCommand(): Command {
  const command = addStoreOptions(
    new Command('dashboard')
      .argument('[files...]', 'recorded session files, or folders of them (default: the store)')
      .option('--port <n>', 'port to listen on; 0 picks one', portNumber, 4142)
      .option('--window <tokens>', 'window under which recorded files are replayed', tokenCount, 200_000)
      .option('--policy <name>', 'policy under which recorded files are replayed', 'plimsoll')
      .option('--model <id>', 'prices and tokenizer of recorded files (default: the recorded model)')
      .option('--no-clock', 'keep every prefix in the cache (default: caches expire as the recorded clock says)')
      .option('--config <file>', 'settings file whose values the page explains'),
  )
  return withExamples(
    addLoadOptions(command, { resend: 'everything' }),
    'plimsoll dashboard',
    'plimsoll dashboard --store sqlite:./plimsoll.db',
    'plimsoll dashboard session.jsonl --window 64k',
  ).action(runDashboard)
}

async function runDashboard(files: string[], flags: DashboardFlags, command: Command): Promise<void> {
  const config = flags.config === undefined ? {} : await loadConfig(flags.config)
  const sourceOf = sourceIn(command)
  const replayed = {
    policy: flags.policy,
    window: flags.window,
    model: flags.model ?? 'as recorded',
    clock: flags.clock,
  }
  const given: Readonly<Record<string, unknown>> =
    files.length > 0
      ? replayed
      : {
          store: flags.store,
        }
  const policy: DashboardOptions['policy'] = async () => {
    const rows = policySettings({ ...config, policy: files.length === 0 ? config.policy : flags.policy }, 'main')
    const others = rows.filter(({ name }) => given[name] === undefined)
    const own = Object.entries(given).filter(([, value]) => value !== undefined)
    return [...own.map(([name, value]) => ({ name, value, from: sourceOf(name) ?? 'default' })), ...others]
  }
  if (files.length > 0) return showFiles(files, flags, policy)
  await withStores(flags, async (stores) => {
    const hub = createEventHub()
    const catalogue = knownModels()
    const { sessions, artifacts, secret } = stores
    const others = liveEvents(sessions, (event) => hub.take(event))
    const plimsoll = createPlimsoll({
      store: sessions,
      artifacts,
      secret,
      catalogue,
      onEvent: (event) => hub.take(event),
    })
    try {
      const storeName = withoutPassword(stores.url)
      await serve(hub, flags, { plimsoll, sessions, catalogue, source: 'store', storeName, policy })
    } finally {
      await others.close()
    }
  })
}

/** Loads recordings into a store in memory, as if their requests had gone through a proxy. */
async function showFiles(paths: string[], flags: DashboardFlags, policy: DashboardOptions['policy']): Promise<void> {
  const { recordings, failures } = await loadFiles(await findFiles(paths), flags, () => undefined)
  failures.forEach(printError)
  const hub = createEventHub()
  const catalogue = knownModels()
  const sessions = memoryStore()
  const secret = REPLAY_SECRET
  const artifacts = memoryArtifacts({ secret })
  const plimsoll = createPlimsoll({ policy: flags.policy, store: sessions, artifacts, secret, catalogue })
  const named = new Map<string, Recording>()
  for (const recording of recordings.filter(({ calls }) => calls.length > 0))
    named.set(uniqueName(nameOf(recording), named), recording)
  const { window, model, clock } = flags
  const done = new Map<string, number>()
  const play = async (): Promise<void> => {
    for (const [session, recording] of named)
      await replaySession(recording, {
        window,
        policy: flags.policy,
        model,
        clock,
        catalogue,
        into: { sessions, artifacts, session, onEvent: (event) => hub.take(event) },
        onCall: ({ call }) => done.set(session, call + 1),
      })
  }
  // The page opens at once; the sessions appear while the files are read.
  const playing = play().catch(printError)
  await serve(hub, flags, {
    plimsoll,
    sessions,
    catalogue,
    source: 'files',
    storeName: paths.join(', '),
    policy,
    unreadable: failures,
    replayOf: (session) => ({
      policy: flags.policy,
      window,
      done: done.get(session) ?? 0,
      total: named.get(session)?.calls.length ?? 0,
    }),
    async compare(session, sides) {
      const recording = named.get(session)
      if (recording === undefined) throw new PlimsollError('not-found', `No file contains ${JSON.stringify(session)}.`)
      return replayReport(
        await Promise.all(sides.map((side) => replaySession(recording, { ...side, model, clock, catalogue }))),
      )
    },
  })
  await playing
}

const nameOf = ({ file, name }: Recording): string => {
  const short = file.split('/').at(-1)!
  return name === undefined ? short : `${short}#${name}`
}

const uniqueName = (name: string, taken: ReadonlyMap<string, unknown>): string =>
  taken.has(name) ? uniqueName(`${name}'`, taken) : name

async function serve(hub: EventHub, { port, json }: DashboardFlags, options: DashboardOptions): Promise<void> {
  // Without authentication, because it listens on loopback only and local users can read the store's file anyway.
  const { proxy, pageUrl } = await serveWithPage({ hub }, options, { port, host: '127.0.0.1', upstreams: {} })
  process.stdout.write(
    json === true
      ? `${JSON.stringify({ listening: pageUrl })}\n`
      : `Listening on ${pageUrl}\nOpen this address in a browser; Ctrl-C stops the server.\n`,
  )
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  await proxy.close()
}
