import { estimateFor } from '../../transcripts/estimate.ts'
import { bar } from '../../inspect/chart.ts'
import { grouped, percent, plural, short } from '../../inspect/figures.ts'
import { fitWidth, padEnd, padStart, plainText } from '../../inspect/width.ts'
import { metricsLine } from '../metrics.ts'
import type { ChatState } from '../chat.ts'
import { say, type Slash, type SlashContext } from './slash.ts'

export const tokens: Slash = {
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

export const context: Slash = {
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

export const compact: Slash = {
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

export const compaction: Slash = {
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

export const undo: Slash = {
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

export const pin: Slash = {
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
