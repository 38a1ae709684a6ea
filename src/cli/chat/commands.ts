import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { wrapped, renderTable, when } from '../kit/output.ts'
import { type Chat, type ChatState, SESSION_BUDGET, TENANT, metricsLine } from './chat.ts'
import { type Console, type Spinner, safeText } from './console.ts'
import type { Provider } from './model.ts'
import { estimateFor, knownModels, rate, vendorsFirst } from '../catalogue.ts'
import { bar, dollars, fitWidth, grouped, padEnd, padStart, percent, plainText, plural, short } from '../kit/figures.ts'
import { listChats, newChatId } from './journal.ts'
import type { Entry } from '../../formats/wire/chat.ts'

interface SlashContext {
  readonly chat: Chat
  readonly console: Console
  readonly spinner: Spinner
  /** A provider for a model by its name, from the environment. */
  providerFor(model: string): Provider
  leave(): void
}

/** Something that a person types after a slash. */
interface Slash {
  readonly name: string
  /** What may follow it. */
  readonly takes?: string
  readonly about: string
  run(rest: string, context: SlashContext): Promise<void> | void
}

const say = ({ console: { write, screen } }: SlashContext, text: string): void =>
  write(`${wrapped(text.replace(/\n$/, ''), screen)}\n`)

const tokens: Slash = {
  name: 'tokens',
  about: 'how full the window is',
  async run(_rest, context) {
    const {
      used,
      available,
      limit,
      percent: full,
      threshold,
      turnsRemaining,
      turns,
      epoch,
      pins,
    } = await context.chat.state().session.status()
    if (limit === 0) return say(context, 'Nothing was sent yet.')
    say(
      context,
      [
        `used        ${grouped(used)} of ${grouped(limit)} tokens (${full.toFixed(1)} %)`,
        `free        ${grouped(available)}`,
        `compaction  at ${grouped(threshold)}${turnsRemaining === undefined ? '' : `, in about ${plural(turnsRemaining, 'turn')}`}`,
        `calls       ${grouped(turns)}${epoch === undefined ? '' : `; compaction ${epoch} in force`}${pins === 0 ? '' : `; ${plural(pins, 'pin')}`}`,
        await metricsLine(context.chat, context.console.screen),
      ].join('\n'),
    )
  },
}

const context: Slash = {
  name: 'context',
  about: 'what the conversation is made of',
  run(_rest, slash) {
    const slices = slicesOf(slash)
    const whole = slices.reduce((sum, { tokens: count }) => sum + count, 0)
    const { width } = slash.console.screen
    const largest = slices[0]?.tokens ?? 1
    const names = Math.min(24, width - 15)
    const rows = slices.map(({ name, tokens: count }) => {
      const figures = `${padEnd(fitWidth(plainText(name), names), names)}${padStart(short(count), 8)}${padStart(percent(count, whole), 7)}`
      const room = Math.min(40, width - figures.length - 3)
      return room > 3 ? `${figures}  ${bar(count / largest, room)}` : figures
    })
    say(slash, [...rows, `${grouped(whole)} tokens as written; /tokens says what is sent`].join('\n'))
  },
}

function slicesOf({ chat }: SlashContext): readonly { readonly name: string; readonly tokens: number }[] {
  const { journal, provider }: ChatState = chat.state()
  const sums = new Map<string, number>()
  const add = (name: string, text: string): void =>
    void sums.set(name, (sums.get(name) ?? 0) + estimateFor(provider.model, text))
  add('system and AGENTS.md', chat.setup.system)
  add('tool declarations', JSON.stringify(chat.setup.tools))
  for (const entry of journal.entries) {
    if (entry.type === 'user') add('you', entry.text)
    else if (entry.type === 'result') add(`results: ${entry.name}`, entry.text)
    else {
      if (entry.text !== '') add('assistant', entry.text)
      for (const call of entry.calls) add('tool calls', JSON.stringify(call.input))
    }
  }
  return [...sums].map(([name, count]) => ({ name, tokens: count })).sort((a, b) => b.tokens - a.tokens)
}

const compact: Slash = {
  name: 'compact',
  takes: '[instructions]',
  about: 'compact the conversation now',
  async run(rest, slash) {
    slash.spinner.start('compacting')
    const done = await slash.chat.compact(rest).finally(() => slash.spinner.stop())
    if (done.status === 'nothing') say(slash, `Nothing was compacted: ${done.reason}.`)
    else
      say(
        slash,
        `${grouped(done.before)} → ${grouped(done.after)} tokens (${percent(done.before - done.after, done.before)} less); /undo reverts it.`,
      )
  },
}

const compaction: Slash = {
  name: 'compaction',
  about: 'when compaction happens, and what it did so far',
  async run(_rest, slash) {
    const { session, policy } = slash.chat.state()
    const { water } = slash.chat.setup.settings.policyOf(policy)
    const { limit, threshold } = await session.status()
    const log = await session.audit()
    const epochs = log.flatMap((entry) => (entry.type === 'epoch' ? [entry] : []))
    const cuts = log.flatMap((entry) => (entry.type === 'audit' ? [entry] : []))
    say(
      slash,
      [
        `policy ${policy}: from ${percent(water.high, 1)} of the limit down to ${percent(water.low, 1)}${limit === 0 ? '' : `, at ${grouped(threshold)} of ${grouped(limit)} tokens`}`,
        ...epochs.map(
          ({ id, before, after, count, reason }) =>
            `${id}  ${grouped(before)} → ${grouped(after)} tokens, ${plural(count, 'item')} covered: ${reason}`,
        ),
        ...cuts.map(
          ({ originalBytes, shownBytes, handle, reason }) =>
            `${handle ?? ''}  ${short(originalBytes)}B → ${short(shownBytes)}B: ${reason}`,
        ),
        ...(epochs.length + cuts.length === 0 ? ['Nothing was taken out yet.'] : []),
      ].join('\n'),
    )
  },
}

const undo: Slash = {
  name: 'undo',
  about: 'undo the last compaction',
  async run(_rest, slash) {
    const epoch = await slash.chat.state().session.undo()
    say(
      slash,
      epoch === undefined ? 'No compaction is in force.' : `${epoch} is undone; the next request is built without it.`,
    )
  },
}

const pin: Slash = {
  name: 'pin',
  takes: '[number] [off]',
  about: 'keep a message in every request; "off" removes the pin',
  async run(rest, slash) {
    const { session } = slash.chat.state()
    const items = await session.items()
    if (items.length === 0) return say(slash, 'Nothing was sent yet.')
    if (rest === '')
      return say(
        slash,
        items
          .map(({ kind, toolName, excerpt }, index) =>
            fitWidth(
              `${padStart(String(index + 1), 4)}  ${padEnd(toolName ?? kind, 14)} ${plainText(excerpt)}`,
              slash.console.screen.width,
            ),
          )
          .join('\n'),
      )
    const [number = '', off] = rest.split(/\s+/)
    const item = items[Number(number) - 1]
    if (item === undefined) return say(slash, `There is no item ${number}; /pin lists them.`)
    await session.pin(item.identity, off !== 'off')
    say(slash, `Item ${number} is ${off === 'off' ? 'no longer pinned' : 'pinned'}.`)
  },
}

const cost: Slash = {
  name: 'cost',
  about: 'what this session cost',
  async run(_rest, slash) {
    const { spent } = await slash.chat.state().session.status()
    const { input, cacheRead, output } = spent.usage
    const { summary = 0, extract = 0 } = spent.byPurpose
    say(
      slash,
      `${dollars(spent.costUsd)} for ${grouped(spent.calls)} calls: ${grouped(input)} input (${percent(cacheRead, input)} cached), ${grouped(output)} output` +
        (summary + extract > 0 ? `; ${dollars(summary + extract)} of it for summaries` : '') +
        (spent.unpriced > 0 ? `; ${grouped(spent.unpriced)} calls of models without a known price` : ''),
    )
  },
}

const budget: Slash = {
  name: 'budget',
  takes: '[dollars]',
  about: 'show or set what this session may cost',
  async run(rest, slash) {
    if (rest !== '') {
      const budgetUsd = Number(rest.replace(/^\$/, ''))
      if (!(budgetUsd > 0)) return say(slash, 'A budget is a number of dollars, such as /budget 2.50.')
      await slash.chat.change({ budgetUsd })
    }
    const { spent, budgets } = await slash.chat.state().session.status()
    const own = budgets.find(({ budget: name }) => name === SESSION_BUDGET)
    if (own === undefined) return say(slash, `No budget; ${dollars(spent.costUsd)} spent.`)
    // An account begins with the first call that it weighs; what the session cost before is in the ledger.
    const spentUsd = Math.max(own.spent, spent.costUsd)
    const left = Math.max(0, own.hard - spentUsd - own.held)
    const held = own.held > 0 ? `, ${dollars(own.held)} held for a call that was never settled` : ''
    say(slash, `${dollars(spentUsd)} of ${dollars(own.hard)} spent${held}, ${dollars(left)} left.`)
  },
}

const model: Slash = {
  name: 'model',
  takes: '[id]',
  about: 'show or change the model',
  async run(rest, slash) {
    if (rest !== '') await slash.chat.change({ provider: slash.providerFor(rest) })
    const { provider } = slash.chat.state()
    const { info, match } = knownModels().resolve(provider.model)
    const known = match === 'default' ? 'not in the catalogue' : `window ${short(info.window)}`
    say(slash, `${provider.model} at ${provider.baseUrl} (${provider.name}, ${known})`)
  },
}

const models: Slash = {
  name: 'models',
  takes: '[words]',
  about: 'models that the catalogue knows',
  run(rest, slash) {
    const found = vendorsFirst(
      knownModels().search(rest === '' ? slash.chat.state().provider.model.split('-')[0]! : rest),
    )
    if (found.length === 0) return say(slash, `No model matches ${rest}.`)
    const rows = found
      .slice(0, 20)
      .map(({ id, window, price }) => [id, short(window), rate(price?.input), rate(price?.output)])
    say(
      slash,
      renderTable(
        [
          { head: 'model', gives: 'start' },
          { head: 'window', align: 'right' },
          { head: '$ in', align: 'right', optional: true },
          { head: 'out', align: 'right', optional: true },
        ],
        rows,
        slash.console.screen,
      ),
    )
  },
}

const policy: Slash = {
  name: 'policy',
  takes: '[name]',
  about: 'show or change the policy',
  async run(rest, slash) {
    if (rest !== '') {
      slash.chat.setup.settings.policyOf(rest)
      await slash.chat.change({ policy: rest })
    }
    say(slash, `${slash.chat.state().policy} (known: ${slash.chat.setup.settings.policyNames.join(', ')})`)
  },
}

const PREVIEW_CHARACTERS = 2_000

const artifacts: Slash = {
  name: 'artifacts',
  takes: '[handle]',
  about: 'what is stored outside the window',
  async run(rest, slash) {
    const { stores } = slash.chat.setup
    if (rest !== '') {
      const bytes = await stores.artifacts.read(TENANT, rest)
      if (bytes === undefined) return say(slash, `There is no artifact ${rest}.`)
      const text = Buffer.from(bytes).toString('utf8')
      const more =
        text.length > PREVIEW_CHARACTERS
          ? `\n[${grouped(text.length - PREVIEW_CHARACTERS)} characters more: plimsoll artifacts show ${rest}]`
          : ''
      // Content is shown as it is; only the terminal breaks it.
      return slash.console.write(`${safeText(text.slice(0, PREVIEW_CHARACTERS)) + more}\n`)
    }
    const found = await stores.artifacts.list(TENANT, { session: slash.chat.state().journal.id, limit: 50 })
    if (found.length === 0) return say(slash, 'Nothing of this session is stored outside the window.')
    const rows = found.map(({ handle, bytes, tool, createdAt }) => [
      handle,
      `${short(bytes)}B`,
      tool ?? '',
      when(createdAt),
    ])
    say(
      slash,
      renderTable(
        [
          { head: 'handle' },
          { head: 'size', align: 'right' },
          { head: 'tool', gives: 'start' },
          { head: 'made', optional: true },
        ],
        rows,
        slash.console.screen,
      ),
    )
  },
}

const recall: Slash = {
  name: 'recall',
  takes: '<words>',
  about: 'search everything that was said, also what is no longer in view',
  async run(rest, slash) {
    if (rest === '') return say(slash, '/recall needs words to look for.')
    const { journal } = slash.chat.state()
    const hits = await slash.chat.setup.stores.sessions.search(TENANT, rest, { session: journal.id, limit: 10 })
    say(
      slash,
      hits.length === 0
        ? 'Nothing was found.'
        : hits
            .map(({ version, excerpt }) =>
              fitWidth(`${version}: ${plainText(excerpt)}`, slash.console.screen.width * 2),
            )
            .join('\n'),
    )
  },
}

const session: Slash = {
  name: 'session',
  takes: '[name]',
  about: 'which session this is; with a name: continue that one',
  async run(rest, slash) {
    if (rest !== '') {
      const known = listChats(slash.chat.setup.chatsFolder).some(({ id }) => id === rest)
      if (!known) return say(slash, `There is no session ${rest}; /sessions lists them, /new begins one.`)
      await slash.chat.change({ sessionId: rest })
    }
    const { journal, provider, policy, session: own } = slash.chat.state()
    const { spent } = await own.status()
    say(
      slash,
      `${journal.id}: ${grouped(journal.entries.length)} entries, ${grouped(spent.calls)} calls, ${provider.name} ${provider.model}, policy ${policy}`,
    )
  },
}

const sessions: Slash = {
  name: 'sessions',
  about: 'chats on this machine, newest first',
  run(_rest, slash) {
    const chats = listChats(slash.chat.setup.chatsFolder).slice(0, 20)
    say(
      slash,
      renderTable(
        [{ head: 'session' }, { head: 'last change', optional: true }, { head: 'began with', gives: 'start' }],
        chats.map(({ id, changedAt, title }) => [id, when(changedAt), title]),
        slash.console.screen,
      ),
    )
  },
}

const fresh: Slash = {
  name: 'new',
  takes: '[name]',
  about: 'begin a new session; this one stays',
  async run(rest, slash) {
    await slash.chat.change({ sessionId: rest === '' ? newChatId() : rest })
    say(slash, `New session ${slash.chat.state().journal.id}.`)
  },
}

const exporting: Slash = {
  name: 'export',
  takes: '[file]',
  about: 'write the conversation as Markdown',
  async run(rest, slash) {
    const { journal } = slash.chat.state()
    const file = resolve(slash.chat.setup.cwd, rest === '' ? `${journal.id.replaceAll(/[^\w.-]/g, '_')}.md` : rest)
    await writeFile(file, markdownOf(journal.id, journal.entries), { flag: 'wx', mode: 0o600 })
    say(slash, `Wrote ${file}.`)
  },
}

function markdownOf(id: string, entries: readonly Entry[]): string {
  const blocks = entries.map((entry) => {
    if (entry.type === 'user') return `## You\n\n${entry.text}`
    if (entry.type === 'result')
      return `### Result of ${entry.name}${entry.isError ? ' (failed)' : ''}\n\n${fenced(entry.text)}`
    const calls = entry.calls.map(
      ({ name, input }) => `### Call of ${name}\n\n${fenced(JSON.stringify(input, null, 2))}`,
    )
    return [`## Assistant\n\n${entry.text}`.trimEnd(), ...calls].join('\n\n')
  })
  return `# ${id}\n\n${blocks.join('\n\n')}\n`
}

/** A fence longer than any inside keeps data data. */
function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`{3,}/g) ?? []).map((fence) => fence.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

const help: Slash = {
  name: 'help',
  about: 'this list',
  run(_rest, slash) {
    const isNarrow = slash.console.screen.width < 72
    const lines = SLASHES.map(({ name, takes = '', about }) =>
      isNarrow ? `/${name} ${takes}\n    ${about}` : `${padEnd(`/${name} ${takes}`, 26)}${about}`,
    )
    say(
      slash,
      `${lines.join('\n')}\nCtrl-C stops a turn and keeps the session. End a line with \\ to continue it on the next.`,
    )
  },
}

const exit: Slash = {
  name: 'exit',
  about: 'leave; plimsoll chat --continue comes back',
  run: (_rest, slash) => slash.leave(),
}

/** In the order in which /help shows them. */
const SLASHES: readonly Slash[] = [
  tokens,
  context,
  compact,
  compaction,
  undo,
  pin,
  artifacts,
  recall,
  cost,
  budget,
  model,
  models,
  policy,
  session,
  sessions,
  fresh,
  exporting,
  help,
  exit,
]

/** True when the line was a command. */
export async function runSlash(line: string, slash: SlashContext): Promise<boolean> {
  const found = /^\/([a-z]+)(?:\s+([^]*))?$/.exec(line.trim())
  // A path such as /etc/hosts is a message, not a command.
  if (found === null) return false
  const command = SLASHES.find(({ name }) => name === found[1])
  if (command === undefined) say(slash, `There is no command /${found[1]}; /help lists them.`)
  else await command.run((found[2] ?? '').trim(), slash)
  return true
}

export const completeSlash = (line: string): readonly string[] =>
  line.startsWith('/') ? SLASHES.map(({ name }) => `/${name}`).filter((name) => name.startsWith(line)) : []
