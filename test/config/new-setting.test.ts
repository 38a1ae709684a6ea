import { Command } from 'commander'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { configurationPage, environmentPage } from '../../scripts/docs/configuration.ts'
import { optionsFor, settingsIn } from '../../src/cli/proxy-options.ts'
import { checked } from '../../src/settings/check.ts'
import { checkTextOf, configJsonSchema } from '../../src/settings/file.ts'
import { optionsSchema, setting, SETTINGS, type FileOf, type OptionsOf } from '../../src/settings/settings.ts'
import { tokens } from '../../src/settings/values.ts'

/** One entry more, and nothing else. */
const more = {
  ...SETTINGS,
  pauseTokens: setting(tokens('Tokens after which a session pauses', 100), {
    flag: '--pause <tokens>',
    env: 'PLIMSOLL_PAUSE',
    default: 5_000,
  }),
}

describe('one entry makes a setting', () => {
  const file = (text: string) => checkTextOf(more, text, 'plimsoll.yaml')

  it('in types', () => {
    expectTypeOf<OptionsOf<typeof more>['pauseTokens']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<FileOf<typeof more>['pauseTokens']>().toEqualTypeOf<number | undefined>()
    expectTypeOf<FileOf<typeof more>['window']>().toEqualTypeOf<number | undefined>()
  })

  it('in code', () => {
    const problemsOf = (options: object) => checked(optionsSchema(more), options, 'the options').problems
    expect(problemsOf({ pauseTokens: 200 })).toEqual([])
    expect(problemsOf({ pauseTokens: '2k' })).toMatchObject([
      { message: 'pauseTokens must be a number of tokens like 128_000, not "2k".' },
    ])
    expect(problemsOf({ pausTokens: 200 })).toMatchObject([{ nearest: 'pauseTokens' }])
  })

  it('in a file, with line and nearest key', () => {
    expect(file('port: 4141\npauseTokens: 2k\n')).toEqual({ config: { port: 4141, pauseTokens: 2_000 }, problems: [] })
    expect(file('port: 4141\npauseTokens: 20\n').problems).toMatchObject([
      { line: 2, message: 'pauseTokens must be tokens like 128000 or 128k, at least 100, not 20.' },
    ])
    expect(file('port: 4141\npauseToken: 200\n').problems).toMatchObject([{ line: 2, nearest: 'pauseTokens' }])
  })

  it('as a flag and a variable', () => {
    const given = (env: NodeJS.ProcessEnv, ...args: string[]) => {
      const before = process.env
      process.env = env
      try {
        const command = new Command('proxy').exitOverride().configureOutput({ writeErr: () => undefined })
        for (const option of optionsFor(more)) command.addOption(option)
        return settingsIn(command.parse(args, { from: 'user' }).opts(), more, env)['pauseTokens']
      } finally {
        process.env = before
      }
    }
    expect(given({}, '--pause', '3k')).toBe(3_000)
    expect(given({ PLIMSOLL_PAUSE: '4k' })).toBe(4_000)
    expect(given({ PLIMSOLL_PAUSE: '4k' }, '--pause', '3k')).toBe(3_000)
    expect(given({})).toBeUndefined()
    expect(() => given({}, '--pause', '20')).toThrow(/at least 100, not 20/)
    const [option] = optionsFor({ pauseTokens: more.pauseTokens })
    expect(option?.description).toBe('tokens after which a session pauses (default: 5000)')
  })

  it('in the JSON Schema and on the pages', () => {
    expect(configJsonSchema(more)).toMatchObject({
      properties: { pauseTokens: { description: 'Tokens after which a session pauses' } },
    })
    expect(configurationPage(more)).toContain(
      '| `pauseTokens` | tokens like 128000 or 128k; at least 100 | Tokens after which a session pauses. Default: 5000. |',
    )
    expect(environmentPage(more)).toContain(
      '| `PLIMSOLL_PAUSE` | Same as `--pause`. Tokens after which a session pauses. |',
    )
  })
})
