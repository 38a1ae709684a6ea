import { grouped, percent, short } from '../../inspect/figures.ts'
import { renderTable } from '../../kit/table.ts'
import { dollars } from '../../inspect/figures.ts'
import { rate, vendorsFirst } from '../../models-view.ts'
import { SESSION_BUDGET } from '../chat.ts'
import { say, type Slash } from './slash.ts'
import { knownModels } from '../../catalogue.ts'

export const cost: Slash = {
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

export const budget: Slash = {
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

export const model: Slash = {
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

export const models: Slash = {
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

export const policy: Slash = {
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
