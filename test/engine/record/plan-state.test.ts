import { describe, expect, it } from 'vitest'
import { planStateOf, planText } from '../../../src/engine/epoch/record/facts.ts'
import { step } from './items.ts'

const listed = (...items: ReturnType<typeof step>): string => planText(planStateOf(items))

describe('the state of plans', () => {
  it.each([
    [
      'TodoWrite',
      {
        todos: [
          { content: 'a', status: 'completed', activeForm: 'x' },
          { content: 'b', status: 'in_progress' },
        ],
      },
    ],
    [
      'update_plan',
      {
        plan: [
          { step: 'a', status: 'completed' },
          { step: 'b', status: 'in_progress' },
        ],
        explanation: 'why',
      },
    ],
    [
      'write_todos',
      {
        todos: [
          { description: 'a', status: 'completed' },
          { description: 'b', status: 'in_progress' },
        ],
      },
    ],
    [
      'task_tracker',
      {
        command: 'plan',
        task_list: [
          { id: '1', title: 'a', status: 'done' },
          { id: '2', title: 'b', status: 'in_progress' },
        ],
      },
    ],
  ])('is the last list that %s wrote', (tool, input) => {
    const before = step(tool, JSON.parse(JSON.stringify(input).replaceAll('completed', 'pending')) as object, 'ok')
    expect(listed(...before, ...step(tool, input, 'ok'))).toBe('[x] a\n[~] b')
  })

  it('follows tasks that are created and changed one by one', () => {
    const items = [
      ...step('TaskCreate', { subject: 'read', description: 'all of it' }, 'Task #1 created successfully: read'),
      ...step('TaskCreate', { subject: 'write' }, 'Task #2 created successfully: write'),
      ...step('TaskCreate', { subject: 'never' }, 'Task #3 created successfully: never'),
      ...step('TaskUpdate', { taskId: '1', status: 'completed' }, 'ok'),
      ...step('TaskUpdate', { taskId: '2', status: 'in_progress' }, 'ok'),
      ...step('TaskUpdate', { taskId: '3', status: 'deleted' }, 'ok'),
    ]
    expect(listed(...items)).toBe('[x] read\n[~] write')
  })

  it('keeps words that it does not know beside open work', () => {
    const todos = [
      { content: 'a', status: 'pending' },
      { content: 'b', status: 'blocked: needs the key' },
    ]
    expect(listed(...step('TodoWrite', { todos }, 'ok'))).toBe('[ ] a\n[ ] b (blocked: needs the key)')
  })

  it('has a plan that was put forward as prose', () => {
    expect(listed(...step('ExitPlanMode', { plan: '# Fix\n1. read' }, 'ok'))).toBe('# Fix\n1. read')
  })

  it('takes no list for a plan whose entries have no status', () => {
    expect(listed(...step('search', { results: [{ title: 'a' }, { title: 'b' }] }, 'ok'))).toBe('')
  })
})
