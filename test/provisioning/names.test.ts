import test from 'ava'
import fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { accountNamePattern, maxAccountNameLength } from '../../core/kernel/ids.ts'
import { parseTeamName } from '../../core/organizations/organization-rules.ts'
import { loginCandidates, nameCandidates } from '../../core/provisioning/names.ts'

test('a login comes from the part of the user name before the @', (t) => {
  const [first, second, third] = [...loginCandidates('Zoë.Müller@example.org', 'Acme-Works')]
  t.deepEqual([first, second, third], ['zoe.muller', 'zoe.muller-acme-works', 'zoe.muller-acme-works-2'])
  t.is([...loginCandidates('陈@example.org', 'acme')][0], 'user-acme')
})

test('each candidate is well formed, and no two are the same', (t) => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.stringMatching(/^[a-z0-9]+(?:[-._][a-z0-9]+){0,9}$/),
      (name, org) => {
        const logins = [...loginCandidates(name, org)]
        t.true(
          logins.every((each) => each.length <= maxAccountNameLength && accountNamePattern.test(each)),
          name,
        )
        t.is(new Set(logins).size, logins.length)
        const teams = [...nameCandidates(name)]
        t.true(
          teams.every((each) => isRight(parseTeamName(each))),
          name,
        )
        t.is(new Set(teams).size, teams.length)
      },
    ),
  )
})
