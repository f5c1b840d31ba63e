import test from 'ava'
import fc from 'fast-check'
import { matches, meets, warningsOf } from '../../core/authorization-server/workloads/conditions.ts'

const piece = fc.string({ unit: fc.constantFrom('a', 'b', '/', ':', '.', '+', '$', '\n'), maxLength: 6 })

const escaped = (text: string): string => text.replaceAll(/[.+$/]/g, '\\$&')

/** What a regular expression says about a form. */
const expected = (form: string, text: string): boolean =>
  new RegExp(`^${form.split('*').map(escaped).join('[^]*')}$`).test(text)

test('a star stands for any characters, and nothing else has a meaning', (t) => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.array(piece, { maxLength: 5 }), (form, text) => {
      t.is(matches(form.join('*'), text.join('')), expected(form.join('*'), text.join('')))
    }),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(
      fc.array(piece, { minLength: 2, maxLength: 4 }),
      fc.array(piece, { minLength: 3, maxLength: 3 }),
      (form, gaps) => {
        const text = form.map((each, index) => `${each}${index < form.length - 1 ? (gaps[index] ?? '') : ''}`).join('')
        t.true(matches(form.join('*'), text))
      },
    ),
  )
})

test('a long form and a long text are compared in linear time', (t) => {
  t.false(matches(`${'a*'.repeat(250)}b`, 'a'.repeat(16_000)))
})

test('all conditions must hold, by one value of a list, also below a claim', (t) => {
  const claims = {
    sub: 'system:serviceaccount:default:reporter',
    groups: ['a', 'b'],
    run: 7,
    protected: true,
    'kubernetes.io': { serviceaccount: { uid: 'u-1' }, 'a/b': 'c' },
  }
  const holds = (...conditions: readonly (readonly [string, string])[]) =>
    meets(
      claims,
      conditions.map(([claim, value]) => ({ claim, value })),
    )
  t.true(holds(['sub', 'system:serviceaccount:default:*'], ['groups', 'b'], ['run', '7'], ['protected', 'true']))
  t.true(holds(['/kubernetes.io/serviceaccount/uid', 'u-1'], ['/kubernetes.io/a~1b', 'c']))
  t.false(holds(['sub', 'system:*'], ['groups', 'c']))
  t.false(holds(['kubernetes.io', '*']), 'an object is no value')
  t.false(holds(['constructor', '*']), 'inherited members are no claims')
  t.false(holds(['missing', '*']), 'a missing claim has no value')
})

test('conditions about names carry a warning until an id is among them', (t) => {
  const github = 'https://token.actions.githubusercontent.com'
  const named = { claim: 'repository', value: 'acme/app' }
  t.is(warningsOf(github, [named]).length, 1)
  t.is(warningsOf(github, [named, { claim: 'repository_id', value: '1' }]).length, 0)
  t.is(warningsOf('https://gitlab.example', [{ claim: 'project_path', value: 'a/b' }]).length, 1)
  t.is(warningsOf('https://keycloak.example', [{ claim: 'sub', value: 'x' }]).length, 0)
  t.regex(warningsOf('https://keycloak.example', [{ claim: 'sub', value: '*x' }])[0] ?? '', /match too much/)
})
