import { Command } from 'commander'
import { expect, it } from 'vitest'
import { addProxyOptions, settingsIn } from '../../src/cli/proxy-options.ts'
import { SETTINGS } from '../../src/settings/settings.ts'

const given = (...flags: string[]): Record<string, unknown> => {
  const command = addProxyOptions(new Command('proxy'), true).exitOverride()
  return settingsIn(command.parse(flags, { from: 'user' }).opts(), SETTINGS, {})
}

it('takes a flag that switches something off', () => {
  expect(given('--no-tools')).toEqual({ tools: false })
})

it('leaves what no flag says to the settings file', () => {
  expect(given()).toEqual({})
})

it('takes flags with and without a value beside each other', () => {
  expect(given('--redact', '--no-tools', '--window', '64k')).toEqual({ redact: true, tools: false, window: 64_000 })
})
