import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Command } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import type { ProxyLine } from '../../gateway/proxy.ts'
import { baseUrls, KNOWN_AGENTS, launchOf, type KnownAgent } from '../agents/known-agents.ts'
import { EXIT, keepServing, printError, print, printTable } from '../kit/output.ts'
import { openProxy } from '../open-proxy.ts'
import { addProxyOptions, settingsOf, type ProxyFlags } from '../proxy-options.ts'

interface RunFlags extends ProxyFlags {
  readonly list?: true
}

export function runCommand(): Command {
  const command = new Command('run')
    .argument('[command...]', 'the command to run')
    .passThroughOptions()
    .option('--list', 'list the known agents and how each is pointed at the proxy')
  return addProxyOptions(command)
    .addHelpText(
      'after',
      '\nExamples:\n  $ plimsoll run -- claude "fix the build"\n  $ plimsoll run --window 64k -- codex exec "fix the build"\n  $ plimsoll run --list',
    )
    .action(runUnder)
}

async function runUnder([file, ...args]: string[], flags: RunFlags): Promise<void> {
  if (flags.list === true) return list(flags.json)
  if (file === undefined)
    throw new PlimsollError('bad-input', 'There is nothing to run.', {
      advice: 'Write the command after two dashes: plimsoll run -- claude "fix the build".',
    })
  keepServing()
  let calls = 0
  const count = ({ method, path }: ProxyLine): void => void (isModelCall(method, path) && calls++)
  const { list: _list, ...options } = flags
  const { proxy, close } = await openProxy({ ...settingsOf(options), port: 0, host: '127.0.0.1' }, count)
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-run-'))
  try {
    const { url } = proxy
    const { command, env, agent } = launchOf({ file, args }, { url, env: process.env, folder })
    const exit = await exitOf(command.file, command.args, { ...baseUrls(url), ...env })
    process.exitCode = exit ?? EXIT.usage
    if (calls === 0 && exit !== undefined) printError(warnOfNoCalls(file, agent))
  } finally {
    await close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Model lists and health checks are not counted: they do not show that the agent's model calls go through the proxy. */
const isModelCall = (method: string, path: string): boolean => method === 'POST' && !path.endsWith('/count_tokens')

function list(asJson: boolean | undefined): void {
  const agents = KNOWN_AGENTS.map(({ name, how }) => ({ name, how }))
  print(asJson, agents, () =>
    [
      printTable(
        [{ head: 'agent' }, { head: 'how it is pointed at the proxy', keeps: 'end' }],
        agents.map(({ name, how }) => [name, how]),
      ),
      `Every other command gets ${Object.keys(baseUrls('')).join(', ')}.`,
    ].join('\n'),
  )
}

function warnOfNoCalls(file: string, agent: KnownAgent | undefined): string {
  const why =
    agent === undefined
      ? `It was started with ${Object.keys(baseUrls('')).join(', ')} set and may not read any of them: start plimsoll proxy and set the base URL in its own settings (docs/recipes/agents.md).`
      : `It is pointed at the proxy by ${agent.how}; a provider that is configured in another way does not use the proxy.`
  return `${file} has ended and no model call came through the proxy. ${why}`
}

/** Undefined when the command could not be started. */
function exitOf(file: string, args: readonly string[], env: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: 'inherit', env: { ...process.env, ...env } })
    const forward = (signal: NodeJS.Signals): void => void child.kill(signal)
    process.on('SIGINT', forward)
    process.on('SIGTERM', forward)
    child.once('error', (error: NodeJS.ErrnoException) => {
      printError(
        error.code === 'ENOENT'
          ? `${file} was not found. Install it, or check your PATH.`
          : `${file} cannot be run: ${error.message}`,
      )
      resolve(undefined)
    })
    child.once('exit', (code, signal) => {
      process.off('SIGINT', forward)
      process.off('SIGTERM', forward)
      // Shells report a signal as 128 plus its number.
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}
