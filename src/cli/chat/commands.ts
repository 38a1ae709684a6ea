import { wrapped, renderTable, when } from '../kit/output.ts'
import { type Chat, SESSION_BUDGET, TENANT, metricsLine } from './chat.ts'
import type { Console, Spinner } from './console.ts'
import type { Provider } from './model.ts'
import { previewText } from '../commands/compact.ts'
import { designOf } from '../../engine/presets/design.ts'
import { sessionGrid } from '../reports/session-view.ts'
import { estimateFor, knownModels } from '../catalogue.ts'
import { dollars, fitWidth, grouped, padEnd, padStart, percent, plainText, plural, short } from '../kit/figures.ts'
import { listChats, newChatId } from './journal.ts'

interface SlashContext {
  readonly chat: Chat
  readonly console: Console
  readonly spinner: Spinner
  /** Opens a provider for a model name, with keys from the environment. */
  providerFor(model: string): Provider
  leave(): void
}

interface Slash {
  readonly name: string
  /** Its argument, as the help shows it. */
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
      window,
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
        `reserve     ${grouped(window - limit)} of a window of ${grouped(window)}`,
        `compaction  at ${grouped(threshold)}${turnsRemaining === undefined ? '' : `, in about ${plural(turnsRemaining, 'turn')}`}`,
        `calls       ${grouped(turns)}${epoch === undefined ? '' : `; compaction ${epoch} in force`}${pins === 0 ? '' : `; ${plural(pins, 'pin')}`}`,
        await metricsLine(context.chat, context.console.screen),
      ].join('\n'),
    )
  },
}

const context: Slash = {
  name: 'context',
  about: 'what stands in the window, cell by cell',
  async run(_rest, slash) {
    const { chat, console } = slash
    const { model } = chat.state().provider
    const lines = sessionGrid(await chat.log(), (text) => estimateFor(model, text), console.screen)
    say(slash, lines.length === 0 ? 'Nothing was sent yet.' : lines.join('\n'))
  },
}

const compact: Slash = {
  name: 'compact',
  takes: '[--preview] [instructions]',
  about: 'compact the conversation now; with --preview: only show what that would leave',
  async run(rest, slash) {
    slash.spinner.start('compacting')
    const [, preview, instructions = ''] = /^(--preview)?\s*([^]*)$/.exec(rest)!
    const done = await slash.chat.compact(instructions, preview !== undefined).finally(() => slash.spinner.stop())
    if (done.status === 'preview') say(slash, previewText(done))
    else if (done.status === 'nothing') say(slash, `Nothing was compacted: ${done.reason}.`)
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
    const { session, policy: name } = slash.chat.state()
    const policy = slash.chat.setup.settings.policyOf(name)
    const { limit, threshold } = await session.status()
    const at = limit === 0 ? '' : `, at ${grouped(threshold)} of ${grouped(limit)} tokens`
    const { high, low } = policy.water
    const { highWater, lowWater } = designOf(policy)
    const whole = lowWater === undefined ? 'the limit' : 'the window'
    const from =
      highWater === undefined || lowWater !== undefined
        ? `${percent(high, 1)} of ${whole}`
        : 'the window less its buffer'
    const done = (await session.audit()).map((entry) =>
      entry.type === 'epoch'
        ? `${entry.id}  ${grouped(entry.before)} → ${grouped(entry.after)} tokens, ${plural(entry.count, 'item')} covered: ${entry.reason}`
        : `${entry.handle ?? ''}  ${short(entry.originalBytes)}B → ${short(entry.shownBytes)}B: ${entry.reason}`,
    )
    if (done.length === 0) done.push('Nothing was removed yet.')
    const about = `policy ${name}: from ${from} down to ${percent(low, 1)} of ${whole}${at}`
    say(slash, [about, ...done].join('\n'))
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
    const items = await slash.chat.items()
    if (items.length === 0) return say(slash, 'Nothing was sent yet.')
    if (rest === '')
      return say(
        slash,
        items
          .map(({ kind, toolName, text }, index) =>
            fitWidth(
              `${padStart(String(index + 1), 4)}  ${padEnd(toolName ?? kind, 14)} ${plainText(text.slice(0, 200))}`,
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
    // A budget's account only counts calls made under that budget; the ledger also has the earlier cost of the session.
    const spentUsd = Math.max(own.spent, spent.costUsd)
    const left = Math.max(0, own.hard - spentUsd - own.held)
    const reserved = own.held > 0 ? `, ${dollars(own.held)} reserved for a call that was never settled` : ''
    say(slash, `${dollars(spentUsd)} of ${dollars(own.hard)} spent${reserved}, ${dollars(left)} left.`)
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
        [{ head: 'session' }, { head: 'last change', optional: true }, { head: 'began with', keeps: 'start' }],
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
  recall,
  cost,
  budget,
  model,
  policy,
  session,
  sessions,
  fresh,
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
