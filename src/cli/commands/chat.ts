import { join } from 'node:path'
import { Command, InvalidArgumentError, Option } from 'commander'
import { PlimsollError } from '../../core/errors.ts'
import { globalDirOf, loadInstructions, rootRuleOf, type Instructions } from '../../engine/instructions/index.ts'
import { plimsollHome } from '../../plimsoll.ts'
import type { RunningReferee } from '../../testing/referee/index.ts'
import { createChat, type Chat, metricsLine } from '../chat/chat.ts'
import type { Compaction } from '../../engine/session/session.ts'
import { previewText } from './compact.ts'
import { completeSlash, runSlash } from '../chat/commands.ts'
import { openConsole, type Console, screenView, createSpinner } from '../chat/console.ts'
import { startDemoModel, chooseProvider, openProvider, PROVIDERS, type Provider, systemPrompt } from '../chat/model.ts'
import { listChats } from '../chat/journal.ts'
import { createPermissions, toolRunner, TOOLS } from '../chat/tools.ts'
import { readSettings, type FileSettings } from '../chat/settings.ts'
import { EXIT, sentenceOf, wrapped } from '../kit/output.ts'
import { nameList, tokenCount } from '../option-values.ts'
import { withExamples } from '../kit/examples.ts'
import { withNewStores, type Stores } from '../stores.ts'

interface ChatFlags {
  readonly provider?: string
  readonly model?: string
  readonly baseUrl?: string
  readonly continue?: boolean
  readonly session?: string
  readonly prompt?: string
  readonly policy?: string
  readonly config?: string
  readonly window?: number
  readonly budget?: number
  readonly allow?: string[]
  readonly approve?: boolean
  readonly store?: string
  readonly artifacts?: string
  readonly json?: boolean
}

const DEMO_WINDOW = 32_000

export function chatCommand(): Command {
  return withExamples(
    new Command('chat')
      .addOption(
        new Option('--provider <name>', 'provider to use (default: by the keys that are set)').choices(PROVIDERS),
      )
      .option('--model <id>', 'model to use (default: the one of the provider)')
      .option('--base-url <url>', 'address of the provider, or of a server that is compatible with one')
      .option('-c, --continue', 'continue the newest chat of this folder')
      .option('--session <name>', 'continue this chat, or begin it')
      .option('-p, --prompt <text>', 'run one turn and exit')
      .option('--policy <name>', 'policy to apply (default: the one of --config, else plimsoll)')
      .option(
        '--config <file>',
        'settings: policies, window, stores, models, budgets, a model for summaries; flags win',
      )
      .option('--window <tokens>', 'window of the model, when the catalogue is wrong', tokenCount)
      .option('--budget <dollars>', 'what the session may cost', budgetOf)
      .option(
        '--allow <tools>',
        'tools that may run without asking, separated by commas; "all" for every tool',
        nameList,
      )
      .option('--approve', 'show record and receipt before each compaction, and ask; a no stops the turn')
      .option('--store <url>', 'where to store the chat (default: the store in the home directory)')
      .option('--artifacts <url>', 'where large outputs go (default: beside the store)')
      .addOption(new Option('--redact', 'remove secrets from what is stored').env('PLIMSOLL_REDACT'))
      .option('--json', 'with --prompt: print one object at the end'),
    'plimsoll chat --provider demo --prompt "list"',
    'plimsoll chat --provider demo --continue --prompt "echo hello" --json',
  ).action(runChat)
}

function budgetOf(text: string): number {
  const value = Number(text.replace(/^\$/, ''))
  if (value > 0) return value
  throw new InvalidArgumentError('It should be a number of dollars such as 2.50.')
}

async function runChat(flags: ChatFlags): Promise<void> {
  const settings = await readSettings(flags)
  if (flags.json === true && flags.prompt === undefined)
    throw new PlimsollError('bad-input', '--json needs --prompt.', { advice: 'plimsoll chat --prompt "…" --json' })
  const name = chooseProvider(flags, process.env)
  const demo =
    name === 'demo' && flags.baseUrl === undefined
      ? await startDemoModel(settings.window ?? DEMO_WINDOW, process.stdout.isTTY)
      : undefined
  try {
    await withNewStores(settings, (stores) => converse(flags, settings, name, demo, stores))
  } finally {
    await demo?.close()
  }
}

async function converse(
  flags: ChatFlags,
  settings: FileSettings,
  name: string,
  demo: RunningReferee | undefined,
  stores: Stores,
): Promise<void> {
  const cwd = process.cwd()
  const home = plimsollHome()
  const chatsFolder = join(home, 'chats')
  const sessionId = flags.session ?? (flags.continue === true ? newestChat(chatsFolder, cwd) : undefined)
  const baseUrl = flags.baseUrl ?? demo?.url
  const wish = { provider: name, model: flags.model, baseUrl }
  const provider = openProvider(wish, process.env)
  const window = settings.window ?? (demo === undefined ? undefined : DEMO_WINDOW)
  const console = openConsole({ historyFile: join(home, 'chat-history'), complete: completeSlash })
  const spinner = createSpinner(console)
  const view = screenView(console, spinner)
  const quiet = flags.json === true
  const permissions = createPermissions({
    allowed: flags.allow ?? [],
    ask:
      console.canAsk && !quiet
        ? (question) => (view.endText(), console.answer(console.paint('yellow', question)))
        : undefined,
  })
  // Instruction files in the folder are loaded unless the settings say otherwise.
  const instructions = await loadInstructions({
    workDir: cwd,
    globalDir: settings.policy === 'adk-code' ? globalDirOf(settings.policy) : home,
    root: rootRuleOf(settings.policy),
    trustProject: true,
    ...settings.instructions,
  })
  const chat = createChat({
    stores,
    chatsFolder,
    cwd,
    system: systemPrompt(cwd, instructions),
    tools: TOOLS.map(({ name: tool, description, parameters }) => ({ name: tool, description, parameters })),
    runTool: toolRunner(cwd, permissions),
    view: quiet ? SILENT : { ...view, onCompaction: (preview) => mayCompact(console, view.endText, preview) },
    approve: flags.approve,
    provider,
    policy: settings.policy,
    settings,
    window,
    budgetUsd: flags.budget,
    sessionId,
  })
  try {
    if (flags.prompt !== undefined) await oneTurn(chat, console, view.endText, flags.prompt, quiet)
    else {
      introduce(chat, console, instructions)
      await loop(chat, console, view.endText, {
        spinner,
        providerFor: (model) => providerFor(model, wish),
      })
    }
  } finally {
    spinner.stop()
    console.close()
    await chat.close()
  }
}

async function mayCompact({ write, paint, answer, canAsk }: Console, endText: () => void, preview: Compaction) {
  endText()
  write(`${previewText(preview)}\n`)
  if (!canAsk) return false
  return /^y/i.test(await answer(paint('yellow', 'Compact like this? [y]es, [n]o: ')))
}

const SILENT = {
  onWait() {},
  onText() {},
  onNotice() {},
  onCall() {},
  onResult() {},
  onEvent() {},
}

function newestChat(folder: string, cwd: string): string {
  const newest = listChats(folder).find((chat) => chat.cwd === cwd)
  if (newest !== undefined) return newest.id
  throw new PlimsollError('not-found', 'There is no chat of this folder to continue.', {
    advice: 'Leave --continue out, or name one with --session.',
  })
}

/** The same provider for its own models; another one if the model's name belongs to it and its key is set. */
function providerFor(model: string, wish: { provider: string; baseUrl?: string }): Provider {
  if (wish.provider === 'demo' || wish.baseUrl !== undefined) return openProvider({ ...wish, model }, process.env)
  return openProvider({ provider: chooseProvider({ model }, process.env), model }, process.env)
}

function introduce(
  chat: Chat,
  { paint, write, screen }: Console,
  { sources, unreadable, truncated }: Instructions,
): void {
  const { provider, journal, policy } = chat.state()
  const lines = [
    wrapped(
      `plimsoll chat · ${provider.name} ${provider.model} · policy ${policy} · session ${journal.id}`,
      screen,
    ).replace('plimsoll chat', paint('bold', 'plimsoll chat')),
    ...(journal.entries.length === 0 ? [] : [`Continuing after ${journal.entries.length} entries.`]),
    ...sources.map((path) => paint('dim', `instructions from ${path}`)),
    ...unreadable.map((path) => paint('yellow', `${path} cannot be read`)),
    ...(truncated ? [paint('yellow', 'the instructions are longer than 32 KiB and were cut')] : []),
    paint('dim', wrapped('/help lists commands; Ctrl-C stops a turn; Ctrl-D leaves', screen)),
  ]
  write(`${lines.join('\n')}\n`)
}

async function oneTurn(
  chat: Chat,
  console: Console,
  endText: () => void,
  prompt: string,
  asJson: boolean,
): Promise<void> {
  await console.whileWorking(async (signal) => {
    await chat.send(prompt, signal)
    if (signal.aborted) process.exitCode = EXIT.interrupted
  })
  endText()
  const { journal, session } = chat.state()
  if (!asJson) return
  const answer = journal.entries.findLast(({ type }) => type === 'assistant')
  const status = await session.status()
  const value = {
    session: journal.id,
    text: answer?.type === 'assistant' ? answer.text : '',
    calls: status.spent.calls,
    costUsd: status.spent.costUsd,
    status,
  }
  console.write(`${JSON.stringify(value, null, 2)}\n`)
}

async function loop(
  chat: Chat,
  console: Console,
  endText: () => void,
  tools: { readonly spinner: ReturnType<typeof createSpinner>; readonly providerFor: (model: string) => Provider },
): Promise<void> {
  const over = new AbortController()
  const slash = { chat, console, ...tools, leave: () => over.abort() }
  while (!over.signal.aborted) {
    const line = await wholeLine(console)
    if (line === undefined) break
    if (line.trim() === '') continue
    try {
      if (await runSlash(line, slash)) continue
      await console.whileWorking((signal) => chat.send(line, signal))
    } catch (error) {
      endText()
      console.write(`${console.paint('red', wrapped(sentenceOf(error), console.screen))}\n`)
      // A script needs an exit code in addition to the message.
      if (!console.canAsk) process.exitCode = EXIT.failure
      continue
    } finally {
      endText()
    }
    console.write(`${console.paint('dim', await metricsLine(chat, console.screen))}\n`)
  }
  const { journal } = chat.state()
  if (journal.entries.length > 0) console.write(`Session ${journal.id}; plimsoll chat --continue continues it.\n`)
}

/** Reads lines until one does not end in a backslash. */
async function wholeLine(console: Console): Promise<string | undefined> {
  let text = ''
  for (;;) {
    const line = await console.line(text === '' ? '> ' : '… ')
    if (line === undefined) return text === '' ? undefined : text
    if (!line.endsWith('\\')) return text + line
    text += `${line.slice(0, -1)}\n`
  }
}
