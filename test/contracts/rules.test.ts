import test from 'ava'
import fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import type { ContractDraft } from '../../core/contracts/contract-rules.ts'
import {
  duplicateFeatures,
  isActive,
  parseClusterUid,
  parseDisplayName,
  parseRecipients,
  parseTags,
  stateOf,
  parseTerms,
  datedTermsOf,
  detailsOf,
} from '../../core/contracts/contract-rules.ts'
import { makeListRevocations } from '../../core/contracts/authorities.ts'
import type { LicenseSigner } from '../../core/contracts/ports.ts'
import { secret } from '../../core/kernel/secret.ts'
import type { Contract, ContractId, ContractTerms } from '../../core/contracts/types.ts'
import { emailLists } from '../../core/contracts/types.ts'
import type { AccountId } from '../../core/kernel/ids.ts'
import { AddContractParams, ContractParams } from '../../plugins/contracts/terms-codecs.ts'
import { AssociatedQuery, ClusterUuidPath, UpdateUserContractPreferences } from '../../plugins/contracts/codecs.ts'
import { toAdministeredContract, toContract } from '../../plugins/contracts/contract-wire.ts'
import { unwrap } from '../support/outcome.ts'

const maxRevoked = 50_000

/** A window that starts here ends before the latest end. */
const latest = Date.UTC(9980, 0, 1)
const instant = fc.integer({ min: 0, max: latest }).map((ms) => new Date(ms))
const word = fc.stringMatching(/^[a-z0-9](?:[a-z0-9.-]{0,20}[a-z0-9])?$/)
const features = fc.uniqueArray(word, { minLength: 1, maxLength: 6 })
const text = fc.string({ unit: 'grapheme', maxLength: 90 })

/** A window of at least one second. */
const window = fc
  .tuple(instant, fc.integer({ min: 1000, max: 10 * 365 * 86_400_000 }))
  .map(([startsAt, length]) => ({ startsAt, endsAt: new Date(startsAt.getTime() + length) }))

const draft: fc.Arbitrary<ContractDraft> = fc
  .record({
    name: fc.string({ minLength: 1, maxLength: 255 }).filter((name) => name.trim() !== ''),
    product: word,
    features,
    window,
    allowsOffline: fc.boolean(),
    bindsNewClusters: fc.boolean(),
  })
  .map(({ window: { startsAt, endsAt }, ...rest }) => ({ ...rest, startsAt, endsAt }))

const termsOf = (contract: ContractTerms): ContractTerms => ({ ...datedTermsOf(contract), ...detailsOf(contract) })

const stored = (terms: ContractDraft, revokedAt: Date | undefined = undefined): Contract => ({
  ...unwrap(parseTerms(terms, undefined)),
  id: 1 as ContractId,
  termsNumber: 1,
  ownerId: 11 as AccountId,
  ownerName: 'acme',
  document: undefined,
  revokedAt,
  remindedAt45Days: undefined,
  remindedAt10Days: undefined,
  createdAt: new Date(0),
  version: 1,
})

test('a contract is in force from its start to just before its end, to the millisecond', (t) => {
  fc.assert(
    fc.property(window, instant, (contract, now) => {
      const state = stateOf({ ...contract, revokedAt: undefined }, now)
      const [start, end, at] = [contract.startsAt.getTime(), contract.endsAt.getTime(), now.getTime()]
      t.is(state, at < start ? 'scheduled' : at >= end ? 'expired' : 'active')
      t.is(stateOf({ ...contract, revokedAt: now }, now), 'revoked')
      for (const [instantOf, wanted] of [
        [start - 1, 'scheduled'],
        [start, 'active'],
        [end - 1, 'active'],
        [end, 'expired'],
      ] as const) {
        t.is(stateOf({ ...contract, revokedAt: undefined }, new Date(instantOf)), wanted)
        t.is(isActive({ ...contract, revokedAt: undefined }, new Date(instantOf)), wanted === 'active')
      }
    }),
  )
  // A leap day, and the hour that clocks in Berlin repeat: instants have no time zone.
  const leap = {
    startsAt: new Date('2028-02-29T00:00:00+14:00'),
    endsAt: new Date('2028-10-29T02:30:00+01:00'),
    revokedAt: undefined,
  }
  t.deepEqual(
    ['2028-02-28T09:59:59.999Z', '2028-02-28T10:00:00Z', '2028-10-29T01:29:59.999Z', '2028-10-29T01:30:00Z'].map((at) =>
      stateOf(leap, new Date(at)),
    ),
    ['scheduled', 'active', 'active', 'expired'],
  )
})

test('a UID is read in any case, and other texts are refused', (t) => {
  fc.assert(
    fc.property(fc.uuid({ version: [1, 3, 4, 5, 7] }), (uid) => {
      t.deepEqual(unwrap(parseClusterUid(uid.toUpperCase())), uid)
      for (const bad of [uid.slice(1), `${uid}0`, uid.replaceAll('-', ''), ` ${uid}`, `${uid}\n`, `{${uid}}`])
        t.true(isLeft(parseClusterUid(bad)), bad)
    }),
  )
  fc.assert(fc.property(text, (other) => t.true(isLeft(parseClusterUid(other)))))
})

test('tags are trimmed, once each, in their order, and stay so when read again', (t) => {
  fc.assert(
    fc.property(fc.array(text, { maxLength: 70 }), (tags) => {
      const wanted = [...new Set(tags.map((tag) => tag.trim()))]
      const isGood = wanted.length <= 50 && wanted.every((tag) => tag.length >= 1 && tag.length <= 64)
      const parsed = parseTags(tags)
      t.is(isRight(parsed), isGood)
      if (isLeft(parsed)) return
      t.deepEqual(parsed.right, wanted)
      t.deepEqual(parseTags([...parsed.right, ...parsed.right]), parsed)
    }),
  )
  const named = (count: number) => Array.from({ length: count }, (_, n) => `tag ${n}`)
  t.deepEqual(
    [50, 51].map((count) => isRight(parseTags(named(count)))),
    [true, false],
  )
  t.deepEqual(
    [64, 65].map((length) => isRight(parseTags(['x'.repeat(length)]))),
    [true, false],
  )
  t.deepEqual(
    [1, 128, 129].map((length) => isRight(parseDisplayName(` ${'x'.repeat(length)} `))),
    [true, true, false],
  )
  t.true(isLeft(parseDisplayName(' \t')))
})

test('recipients are trimmed, their domains in lower case, once each', (t) => {
  const local = fc.stringMatching(/^[A-Za-z0-9._%+-]{1,20}$/)
  const domain = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9.-]{0,20}$/)
  const address = fc.tuple(local, domain).map(([name, at]) => `${name}@${at}`)
  fc.assert(
    fc.property(fc.array(address, { maxLength: 20 }), (addresses) => {
      const parsed = unwrap(parseRecipients(addresses.flatMap((each) => [` ${each} `, each])))
      t.deepEqual(parsed, [
        ...new Set(addresses.map((each) => `${each.split('@')[0]}@${each.split('@')[1]?.toLowerCase()}`)),
      ])
      t.deepEqual(unwrap(parseRecipients(parsed)), parsed)
    }),
  )
  fc.assert(
    fc.property(
      address,
      fc.constantFrom(' ', '\n', '\r\nBcc: x', ',', ';', '<', '@', '"', '\u0001', '\u007f', '\u202e', '\u200b'),
      (good, bad) => {
        const refused = parseRecipients([good, good.replace('@', `${bad}@`)])
        t.true(isLeft(refused) && refused.left.errors?.length === 1)
      },
    ),
  )
  const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@example.com`)
  t.deepEqual(
    [50, 51].map((count) => isRight(parseRecipients(many(count)))),
    [true, false],
  )
  t.true(isLeft(parseRecipients(['', 'x', '@example.com', 'a@'])))
})

test('duplicate features are those of other contracts of the product', (t) => {
  const contract = fc.record({
    id: fc.integer({ min: 1, max: 9 }).map((id) => id as ContractId),
    product: fc.constantFrom('database', 'vault'),
    features: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 4 }),
  })
  fc.assert(
    fc.property(contract, fc.uniqueArray(contract, { maxLength: 6, selector: ({ id }) => id }), (mine, others) => {
      const found = duplicateFeatures(mine, others)
      const byId = new Map(found.map((each) => [each.contract.id, each.features]))
      for (const other of others) {
        const common =
          other.id === mine.id || other.product !== mine.product
            ? []
            : other.features.filter((feature) => mine.features.includes(feature))
        t.deepEqual(byId.get(other.id) ?? [], common)
      }
      t.true(found.every((each) => each.features.length > 0))
    }),
  )
})

test('accepted terms are accepted again, and absent fields change nothing', (t) => {
  fc.assert(
    fc.property(draft, (given) => {
      const contract = stored(given)
      t.deepEqual(contract.features, [...(given.features ?? [])].sort())
      t.deepEqual(unwrap(parseTerms({}, contract)), termsOf(contract))
      t.deepEqual(unwrap(parseTerms(termsOf(contract), undefined)), termsOf(contract))
    }),
  )
})

test('terms out of their limits are refused, whatever else they are', (t) => {
  const bad: fc.Arbitrary<ContractDraft> = fc.oneof(
    fc.constantFrom('', ' ', 'x'.repeat(256)).map((name) => ({ name })),
    fc.constantFrom('', 'Upper', 'a b', '-a', 'a-', 'ä', 'x'.repeat(65), '../up').map((product) => ({ product })),
    fc
      .constantFrom<readonly string[]>(
        [],
        ['Upper'],
        [''],
        Array.from({ length: 101 }, (_, n) => `f${n}`),
      )
      .map((each) => ({ features: each })),
    window.map(({ startsAt }) => ({ startsAt, endsAt: startsAt })),
    window.map(({ startsAt, endsAt }) => ({ startsAt: endsAt, endsAt: startsAt })),
    fc.constantFrom(Number.NaN, Date.UTC(9999, 0, 1) + 1).map((ms) => ({ endsAt: new Date(ms) })),
    fc.constantFrom(-1, Number.NaN, Number.POSITIVE_INFINITY, 1e12 + 1000).map((limit) => ({ quota: { limit } })),
    fc.constant({ quota: { enabled: true, limit: 0 } }),
    fc
      .constantFrom(
        [0],
        [1001],
        [1.5],
        Array.from({ length: 11 }, (_, n) => n + 1),
      )
      .map((alertThresholds) => ({ quota: { alertThresholds } })),
    fc.constantFrom('[1]', 'null', '{', '"x"', `{"a":"${'x'.repeat(4000)}"}`).map((restrictions) => ({ restrictions })),
    fc
      .constantFrom('0', '-5', '"30"', '0.5', '36501', '1e300', '[30]', 'true')
      .map((days) => ({ restrictions: `{"offlineTtlDays":${days}}` })),
    fc.constantFrom(...emailLists).map((list) => ({ emails: { [list]: ['not an address'] } })),
  )
  fc.assert(
    fc.property(draft, bad, (given, wrong) => {
      t.true(isLeft(parseTerms({ ...given, ...wrong }, undefined)))
      t.true(isLeft(parseTerms(wrong, stored(given))))
    }),
  )
  t.true(isLeft(parseTerms({ name: 'a', product: 'b', features: ['c'] }, undefined)), 'start and end are needed')
})

test('terms take the greatest number of features and of trials, and no more', (t) => {
  const given = { name: 'a', product: 'b', startsAt: new Date(0), endsAt: new Date(1000) }
  const accepts = (changes: ContractDraft): boolean => isRight(parseTerms({ ...given, ...changes }, undefined))
  const features = (count: number) => Array.from({ length: count }, (_, n) => `f${n}`)
  t.deepEqual(
    [0, 1, 100, 101].map((count) => accepts({ features: features(count) })),
    [false, true, true, false],
  )
  t.deepEqual(
    [-1, 0, 1_000_000, 1_000_001, 0.5].map((maxTrials) => accepts({ features: ['c'], maxTrials })),
    [false, true, true, false, false],
  )
})

test('terms that say no more have ten trials that are off, and nothing else on', (t) => {
  const given = { name: 'a', product: 'b', features: ['c'], startsAt: new Date(0), endsAt: new Date(1000) }
  t.like(unwrap(parseTerms(given, undefined)), {
    allowsOffline: false,
    allowsTrials: false,
    maxTrials: 10,
    bindsNewClusters: false,
    disablesAnalytics: false,
    enablesClientBilling: false,
    restrictions: '',
  })
})

test('a contract with an unreadable earlier license life can be changed', (t) => {
  const restrictions = '{"offlineTtlDays":"30"}'
  fc.assert(
    fc.property(draft, (given) => {
      const contract = { ...stored(given), restrictions }
      t.is(unwrap(parseTerms({ name: 'renamed', restrictions }, contract)).name, 'renamed')
      t.is(
        unwrap(parseTerms({ restrictions: '{"offlineTtlDays":30}' }, contract)).restrictions,
        '{"offlineTtlDays":30}',
      )
    }),
  )
})

test('codecs never throw, and decoded values survive a round trip', (t) => {
  for (const codec of [
    AddContractParams,
    ContractParams,
    UpdateUserContractPreferences,
    AssociatedQuery,
    ClusterUuidPath,
  ]) {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        const decoded = codec.decode(value)
        if (isLeft(decoded)) return t.pass()
        t.deepEqual(codec.decode(codec.encode(decoded.right as never)), decoded)
      }),
    )
  }
  const recipientsOf = (usageAlertClient: unknown) => {
    const decoded = UpdateUserContractPreferences.decode({ usageAlertClient })
    return isLeft(decoded) ? 'refused' : (decoded.right.usageAlertClient ?? 'unchanged')
  }
  t.deepEqual(['a@example.com', ['a', 'b'], null, undefined, 1, {}, [1], [[]], true].map(recipientsOf), [
    ['a@example.com'],
    ['a', 'b'],
    'unchanged',
    'unchanged',
    'refused',
    'refused',
    'refused',
    'refused',
    'refused',
  ])
})

test('only site admins see addresses of the vendor', (t) => {
  fc.assert(
    fc.property(draft, instant, (given, now) => {
      const contract = stored({
        ...given,
        emails: { usageAlertAdmin: ['secret@vendor.example'], contactPerson: ['ann@example.com'] },
      })
      const seen = toContract(contract, now)
      t.false(JSON.stringify(seen).includes('vendor.example'))
      t.is(seen.state, stateOf(contract, now))
      t.deepEqual(
        [seen.start, seen.end],
        [contract.startsAt, contract.endsAt].map((each) => Math.floor(each.getTime() / 1000)) as [number, number],
      )
      t.deepEqual(toAdministeredContract(contract, now).emails.usageAlertAdmin, ['secret@vendor.example'])
    }),
  )
})

test('revocation lists are rebuilt for a new authority, else once a minute', async (t) => {
  const made: number[] = []
  const clock = { at: Date.parse('2028-03-01T00:00:00Z') }
  const present = [1]
  const list = makeListRevocations({
    authorities: {
      unexpired: async () =>
        present.map((id) => ({
          id,
          certificatePem: '',
          key: secret(''),
          notBefore: new Date(0),
          notAfter: new Date(clock.at * 2),
        })),
    },
    clock: { now: () => new Date(clock.at) },
    licenses: { listRevoked: async () => [] },
    signer: {
      signRevocations: async ({ id }: { readonly id: number }) => (made.push(id), `${id};`),
    } as unknown as LicenseSigner,
  })
  t.is(unwrap(await list()), '1;')
  present.unshift(2)
  t.deepEqual(
    (await Promise.all([list(), list()])).map((each) => unwrap(each)),
    ['2;1;', '2;1;'],
  )
  t.deepEqual(made, [1, 2, 1])
  clock.at += 60_000
  t.is(unwrap(await list()), '2;1;')
  t.is(made.length, 5)
})

test('a revocation list has all revoked licenses, or there is none', async (t) => {
  const now = new Date('2028-03-01T00:00:00Z')
  const listed: number[] = []
  const listOf = (count: number) =>
    makeListRevocations({
      authorities: {
        unexpired: async () => [{ id: 1, certificatePem: '', key: secret(''), notBefore: now, notAfter: now }],
      },
      clock: { now: () => now },
      licenses: {
        listRevoked: async (_id, _now, limit) =>
          Array.from({ length: Math.min(count, limit) }, (_, n) => ({ serial: String(n), revokedAt: now })),
      },
      signer: {
        signRevocations: async (_authority: unknown, revoked: readonly unknown[]) => (
          listed.push(revoked.length),
          'list'
        ),
      } as unknown as LicenseSigner,
    })()
  t.is(unwrap(await listOf(maxRevoked)), 'list')
  const full = await listOf(maxRevoked + 1)
  t.is(isLeft(full) && full.left.tag, 'RevocationListFull')
  t.deepEqual(listed, [maxRevoked])
})
