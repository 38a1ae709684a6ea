import cluster from 'node:cluster'
import { Command } from 'commander'
import { keepServing, harmless, harmlessJson } from '../kit/output.ts'
import { defaultStore } from '../../compose/plimsoll.ts'
import { readConfig } from '../../settings/index.ts'
import { PlimsollError } from '../../core/errors.ts'
import { storeSchemeOf } from '../../drivers/store-schemes.ts'
import { baseUrlsAt } from '../../formats/endpoints.ts'
import { policySettings, proxySettings, type Shown } from '../config-settings.ts'
import { openProxy, type OpenProxy, type Trouble } from '../open-proxy.ts'
import { addProxyOptions, settingsOf, type ProxyFlags } from '../proxy-options.ts'
import type { ProxyLine } from '../../gateway/proxy.ts'
import { baseUrls } from '../agents/known-agents.ts'
import { runWorkers } from '../workers.ts'

export function proxyCommand(): Command {
  const command = new Command('proxy').option('--json', 'one JSON line per request on standard output')
  return addProxyOptions(command, true)
    .addHelpText(
      'after',
      `\nExamples:\n  $ plimsoll proxy --port 4141\n  $ plimsoll proxy --port 4141 --budget-usd 20 --budget-usd 2/session --budget-tokens 5M/day\n  $ export ${baseUrlsAt('http://127.0.0.1:4141')[0]!.join('=')}`,
    )
    .action(runProxy)
}

async function runProxy(flags: ProxyFlags): Promise<void> {
  keepServing()
  const settings = settingsOf(flags)
  const { workers = 1, store = defaultStore() } = settings
  if (workers > 1 && cluster.isPrimary) {
    needsSharedStore(workers, store)
    return runWorkers(workers)
  }
  const say = (line: object, text: string): void =>
    void process.stdout.write(flags.json === true ? `${harmlessJson(line)}\n` : harmless(`${text}\n`))
  outliveReaders()
  const page = {
    connect: (url: string) => Object.entries(baseUrls(url)).map(([name, value]) => ({ name, value })),
    settings: () => settingRows(flags),
  }
  // With a log level the same is a line of that log.
  const onTrouble = settings.logLevel === undefined ? warnOfTrouble() : undefined
  const running = await openProxy(settings, (line) => say(line, textOf(line)), page, onTrouble).catch(
    (error: unknown) => {
      // A worker that cannot start would stay for the sake of its parent.
      cluster.worker?.disconnect()
      throw error
    },
  )
  const { url } = running.proxy
  const stopped = onSignals(() => reload(running, flags))
  await warnOfStore(running)
  if (cluster.worker === undefined || cluster.worker.id === 1) {
    say(
      { listening: url, dashboard: running.pageUrl },
      [
        `Listening on ${url}`,
        `  Dashboard: ${running.pageUrl}`,
        ...baseUrlsAt(url).map(([name, value]) => `  ${name}=${value}`),
      ].join('\n'),
    )
  }
  await stopped
  await running.close()
  cluster.worker?.disconnect()
}

/** @throws PlimsollError `bad-config` where each worker would have a memory of its own, and a conversation another one with each request. */
function needsSharedStore(workers: number, store: string): void {
  if (!storeSchemeOf(store).isOfOneProcess) return
  throw new PlimsollError('bad-config', `${workers} workers cannot share the store ${store}`, {
    advice: 'Use a store in a file or a database, or one worker.',
  })
}

/** What the file and the flags come to, number by number. */
function settingRows({ config: file, policy }: ProxyFlags): readonly Shown[] {
  const config = file === undefined ? {} : readConfig(file)
  const chosen = policy === undefined ? config : { ...config, policy }
  return [...proxySettings(config), ...policySettings(chosen, 'main').filter(({ name }) => name.startsWith('policy.'))]
}

/** Whoever reads our lines may die before us (`head`, a log shipper): agents are served on. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error')
    stream.on('error', () => undefined)
  }
}

/** A store that cannot be used stops nobody, so it has to be said where somebody may read it. */
async function warnOfStore({ plimsoll }: OpenProxy): Promise<void> {
  try {
    await plimsoll.isReady()
  } catch (error) {
    const warning = [
      (error as Error).message,
      'Until that works, nothing is compacted or recorded: requests pass unchanged (x-plimsoll-verdict: bypassed).',
    ]
    process.stderr.write(harmless(warning.map((line) => `plimsoll: WARNING: ${line}\n`).join('')))
  }
}

const WARN_AGAIN_MS = 60_000

/** Says what has stopped working while agents are served on, at most once a minute for each part: a full disk fails with every request. */
function warnOfTrouble(): (trouble: Trouble) => void {
  const quietUntil = new Map<string, number>()
  return ({ what, cause, at }) => {
    if (at < (quietUntil.get(what) ?? 0)) return
    quietUntil.set(what, at + WARN_AGAIN_MS)
    process.stderr.write(
      harmless(`plimsoll: WARNING: the ${what} does not work, and requests go on without it: ${cause}\n`),
    )
  }
}

/** Listens from now on, before anybody can know that we are there. Resolves when the process is told to stop. */
async function onSignals(hangUp: () => void): Promise<void> {
  process.on('SIGHUP', hangUp)
  await new Promise<void>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  process.off('SIGHUP', hangUp)
}

function reload(running: OpenProxy, flags: ProxyFlags): void {
  try {
    const fixed = running.reload(settingsOf(flags))
    const restart = fixed.length === 0 ? '' : `; ${fixed.join(', ')} will change with a restart`
    process.stderr.write(`plimsoll: settings read again${restart}\n`)
  } catch (error) {
    // A broken file must not take a running proxy down: the old settings stay.
    process.stderr.write(`plimsoll: ${(error as Error).message}\n`)
  }
}

function textOf(line: ProxyLine): string {
  const load = line.load === undefined ? '' : `  ${line.load}/${line.limit} tokens`
  const saved = (line.saved ?? 0) === 0 ? '' : `  ${line.saved} saved`
  const epoch = line.epoch === undefined ? '' : `  ${line.epoch}`
  const recovered = line.recovered === true ? '  recovered an overflow' : ''
  const error = line.error === undefined ? '' : `  ${line.error}`
  return `${line.status} ${line.method} ${line.path}  ${line.ms} ms${load}${saved}${epoch}${recovered}${error}`
}
