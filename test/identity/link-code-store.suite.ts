import { createHash } from 'node:crypto'
import type { LinkCodeStore, NewLinkCode } from '../../core/identity/emails/ports.ts'
import type { UserId } from '../../core/kernel/ids.ts'
import type { SuiteAbout } from '../../composition/runtime/port-tests/contract-suite.ts'
import { contractSuite } from '../../composition/runtime/port-tests/contract-suite.ts'

/** A store with two users. */
export interface LinkCodeFixture {
  readonly codes: LinkCodeStore
  readonly ada: UserId
  readonly eve: UserId
  close(): Promise<void>
}

const at = (minute: number): Date => new Date(Date.UTC(2026, 4, 1, 8, minute))
const hashOf = (text: string): Uint8Array => new Uint8Array(createHash('sha256').update(text).digest())

const about: SuiteAbout = {
  name: 'link-code-store',
  ports: ['LinkCodeStore'],
  needs: 'Two users, `ada` and `eve`, without codes.',
}

/** What every store of link codes promises. */
export const linkCodeStoreSuite = contractSuite<LinkCodeFixture>(about, (on) => {
  const code = (userId: UserId, text: string, extras: Partial<NewLinkCode> = {}): NewLinkCode => ({
    userId,
    emailKey: 'a@example.org',
    kind: 'password-reset',
    hash: hashOf(text),
    createdAt: at(0),
    expiresAt: at(30),
    ...extras,
  })

  on('an open code is found by its kind until it expires, and used once', async (t, { codes, ada }) => {
    await codes.insert(code(ada, 'one'))
    t.deepEqual(await codes.find('password-reset', hashOf('one'), at(29)), { userId: ada, emailKey: 'a@example.org' })
    t.is(await codes.find('password-reset', hashOf('one'), at(30)), undefined)
    t.is(await codes.find('email-confirmation', hashOf('one'), at(0)), undefined)
    t.is(await codes.find('password-reset', hashOf('two'), at(0)), undefined)
    t.false(await codes.use('email-confirmation', hashOf('one'), at(0)))
    t.false(await codes.use('password-reset', hashOf('one'), at(30)))
    const uses = await Promise.all([1, 2, 3].map(() => codes.use('password-reset', hashOf('one'), at(1))))
    t.is(uses.filter(Boolean).length, 1)
    t.is(await codes.find('password-reset', hashOf('one'), at(1)), undefined)
  })

  on('closing concerns one user, one kind and, when told, one address', async (t, { codes, ada, eve }) => {
    await codes.insert(code(ada, 'reset'))
    await codes.insert(code(ada, 'confirm a', { kind: 'email-confirmation' }))
    await codes.insert(code(ada, 'confirm b', { kind: 'email-confirmation', emailKey: 'b@example.org' }))
    await codes.insert(code(eve, 'of eve', { kind: 'email-confirmation' }))
    const open = async () => {
      const kinds = [
        ['reset', 'password-reset'],
        ['confirm a', 'email-confirmation'],
        ['confirm b', 'email-confirmation'],
        ['of eve', 'email-confirmation'],
      ] as const
      const found = await Promise.all(kinds.map(([text, kind]) => codes.find(kind, hashOf(text), at(1))))
      return kinds.flatMap(([text], i) => (found[i] === undefined ? [] : [text]))
    }
    await codes.closeAll(ada, 'email-confirmation', 'a@example.org', at(1))
    t.deepEqual(await open(), ['reset', 'confirm b', 'of eve'])
    await codes.closeAll(ada, 'email-confirmation', undefined, at(1))
    t.deepEqual(await open(), ['reset', 'of eve'])
    await codes.closeAll(ada, 'password-reset', undefined, at(1))
    t.deepEqual(await open(), ['of eve'])
  })

  on(
    'mails to an address are counted for all senders, with used and replaced codes, until they are purged',
    async (t, { codes, ada, eve }) => {
      for (const [i, userId] of [ada, eve, ada].entries())
        await codes.insert(code(userId, `code ${i}`, { createdAt: at(i) }))
      await codes.insert(code(ada, 'elsewhere', { emailKey: 'b@example.org' }))
      await codes.use('password-reset', hashOf('code 0'), at(0))
      t.deepEqual(await codes.sentSince('a@example.org', at(-1)), [at(0), at(1), at(2)])
      t.deepEqual(await codes.sentSince('a@example.org', at(0)), [at(1), at(2)])
      t.is(await codes.purge(at(2)), 3)
      t.deepEqual(await codes.sentSince('a@example.org', at(-1)), [at(2)])
    },
  )
})
