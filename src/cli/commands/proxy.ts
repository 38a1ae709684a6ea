import { Command } from 'commander'
import { keepServing, harmless, harmlessJson } from '../kit/output.ts'
import { readConfig } from '../../settings/index.ts'
import { PlimsollError } from '../../core/errors.ts'
import { baseUrlsAt } from '../../formats/endpoints.ts'
import { policySettings, proxySettings, type Shown, sourceIn, type SourceOf } from '../config-settings.ts'
import { openProxy, type OpenProxy, type Trouble } from '../open-proxy.ts'
import { addProxyOptions, settingsOf, type ProxyFlags } from '../proxy-options.ts'
import type { ProxyLine } from '../../gateway/proxy.ts'
import { baseUrls } from '../agents/known-agents.ts'

export function proxyCommand(): Command {
  const command = new Command('proxy').option('--json', 'one JSON line per request on standard output')
  return addProxyOptions(command, true)
    .addHelpText(
      'after',
      `\nExamples:\n  $ plimsoll proxy --port 4141\n  $ plimsoll proxy --port 4141 --budget-usd 20 --budget-usd 2/session --budget-tokens 5M/day\n  $ export ${baseUrlsAt('http://127.0.0.1:4141')[0]!.join('=')}`,
    )
    .action(runProxy)
}

async function runProxy(flags: ProxyFlags, command: Command): Promise<void> {
  keepServing()
  const settings = settingsOf(flags)
  requireOneProcess(settings.workers)
  const say = (line: object, text: string): void =>
    void process.stdout.write(flags.json === true ? `${harmlessJson(line)}\n` : harmless(`${text}\n`))
  surviveClosedOutput()
  const page = {
    connect: (url: string) => Object.entries(baseUrls(url)).map(([name, value]) => ({ name, value })),
    settings: () => settingRows(flags, sourceIn(command)),
  }
  // With a log level, problems are written as lines of the log instead.
  const onTrouble = settings.logLevel === undefined ? warnOfTrouble() : undefined
  const running = await openProxy(settings, (line) => say(line, textOf(line)), page, onTrouble)
  const { url } = running.proxy
  const stopped = onSignals(() => reload(running, flags))
  await warnOfStore(running)
  say(
    { listening: url, dashboard: running.pageUrl },
    [
      `Listening on ${url}`,
      `  Dashboard: ${running.pageUrl}`,
      ...baseUrlsAt(url).map(([name, value]) => `  ${name}=${value}`),
    ].join('\n'),
  )
  const signal = await stopped
  say({ stopping: signal }, `Stopping, because of ${signal}`)
  await running.close()
}

/** @throws PlimsollError `bad-config` */
function requireOneProcess(workers = 1): void {
  if (workers === 1) return
  throw new PlimsollError('bad-config', `A proxy is one process: ${workers} workers cannot be started.`, {
    advice:
      'Most of a request is waiting for the model, so one is enough for hundreds of agents. For more cores or machines start several proxies on one Postgres store, behind a load balancer.',
  })
}

/** The settings in effect, from the file and the flags. */
function settingRows(flags: ProxyFlags, sourceOf: SourceOf): readonly Shown[] {
  const { config: file, policy } = flags
  const config = file === undefined ? {} : readConfig(file)
  const chosen = policy === undefined ? config : { ...config, policy }
  return [
    ...proxySettings(config, flags, sourceOf),
    ...policySettings(chosen, 'main').filter(({ name }) => name.startsWith('policy.')),
  ]
}

/** The process that reads our output may end before us (`head`, a log shipper); the proxy keeps serving. */
function surviveClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.removeAllListeners('error')
    stream.on('error', () => undefined)
  }
}

/** Requests go on when a store cannot be used, so the user is told on standard error. */
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

/** Reports what stopped working while requests go on, at most once a minute for each part: with a full disk, every request fails. */
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

/** Handles signals from now on, before the start message is printed. Resolves with the signal that stops the process. */
async function onSignals(hangUp: () => void): Promise<NodeJS.Signals> {
  process.on('SIGHUP', hangUp)
  const signal = await new Promise<NodeJS.Signals>((resolve) => {
    process.once('SIGTERM', resolve)
    process.once('SIGINT', resolve)
  })
  process.off('SIGHUP', hangUp)
  return signal
}

function reload(running: OpenProxy, flags: ProxyFlags): void {
  try {
    const fixed = running.reload(settingsOf(flags))
    const restart = fixed.length === 0 ? '' : `; ${fixed.join(', ')} will change with a restart`
    process.stderr.write(`plimsoll: settings read again${restart}\n`)
  } catch (error) {
    // A broken file must not stop a running proxy: it keeps the old settings.
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
