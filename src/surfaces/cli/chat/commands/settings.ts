import { bundledCatalogue } from '../../../../drivers/catalogue/bundled.ts'
import { policies, policyNamed } from '../../../../engine/policies/index.ts'
import { grouped, percent, short } from '../../inspect/figures.ts'
import { renderTable } from '../../kit/table.ts'
import { dollars } from '../../replay/terminal.ts'
import { say, type Slash } from './slash.ts'

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
    const { budgetUsd, session } = slash.chat.state()
    const spentUsd = (await session.status()).spent.costUsd
    say(
      slash,
      budgetUsd === undefined
        ? `No budget; ${dollars(spentUsd)} spent.`
        : `${dollars(spentUsd)} of ${dollars(budgetUsd)} spent, ${dollars(Math.max(0, budgetUsd - spentUsd))} left.`,
    )
  },
}

export const model: Slash = {
  name: 'model',
  takes: '[id]',
  about: 'show or change the model',
  async run(rest, slash) {
    if (rest !== '') await slash.chat.change({ provider: slash.providerFor(rest) })
    const { provider } = slash.chat.state()
    const { info, match } = bundledCatalogue().resolve(provider.model)
    const known = match === 'default' ? 'not in the catalogue' : `window ${short(info.window)}`
    say(slash, `${provider.model} at ${provider.baseUrl} (${provider.name}, ${known})`)
  },
}

export const models: Slash = {
  name: 'models',
  takes: '[words]',
  about: 'models that the catalogue knows',
  run(rest, slash) {
    const found = bundledCatalogue().search(rest === '' ? slash.chat.state().provider.model.split('-')[0]! : rest)
    if (found.length === 0) return say(slash, `No model matches ${rest}.`)
    const rows = found
      .slice(0, 20)
      .map(({ id, window, price }) => [
        id,
        short(window),
        price === undefined ? '' : `$${price.input} / $${price.output}`,
      ])
    say(
      slash,
      renderTable(
        [{ head: 'model', gives: 'start' }, { head: 'window', align: 'right' }, { head: 'in / out per million' }],
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
      policyNamed(rest)
      await slash.chat.change({ policy: rest })
    }
    say(slash, `${slash.chat.state().policy} (known: ${[...policies.keys()].join(', ')})`)
  },
}
