import { Command } from 'commander'
import { storedQuotas } from '../../gateway/operate/quotas.ts'
import { percent } from '../kit/figures.ts'
import { withExamples } from '../kit/examples.ts'
import { print, printTable, when } from '../kit/output.ts'
import { addStoreOptions, tenantsOf, withStores, type StoreFlags } from '../stores.ts'

/** How much of their providers' windows credentials have used, by the newest answer of each. */
export const usageCommand = (): Command =>
  withExamples(addStoreOptions(new Command('usage')), 'plimsoll usage').action((flags: StoreFlags) =>
    withStores(flags, async ({ sessions, ...stores }) => {
      const tenants = await tenantsOf({ sessions, ...stores }, flags.tenant)
      const found = (await Promise.all(tenants.map((tenant) => storedQuotas(sessions, tenant)))).flat()
      print(flags.json, found, () =>
        found.length === 0
          ? 'No answer has said yet how much of a window is used.'
          : printTable(
              [
                { head: 'credential', keeps: 'start' },
                { head: 'window' },
                { head: 'used', align: 'right' },
                { head: 'resets' },
                { head: 'as of' },
              ],
              found.flatMap(({ credential, at, windows }) =>
                windows.map(({ window, used, resetsAt }) => [
                  credential,
                  window,
                  percent(used, 1),
                  resetsAt === undefined ? '' : when(resetsAt),
                  when(at),
                ]),
              ),
            ),
      )
    }),
  )
