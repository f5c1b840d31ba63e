import { makeSqlAttemptCounters } from '../../adapters/sql/identity/attempt-counters.ts'
import type { SqlDatabase } from '../../adapters/sql/kit/statement.ts'
import { makeAuthenticator } from '../../core/identity/authentication/authenticator.ts'
import { makeChangeOwnPassword } from '../../core/identity/authentication/passwords.ts'
import { makeSignIn } from '../../core/identity/authentication/sign-in.ts'
import { makeNotifyLocked } from '../../core/identity/credentials.ts'
import { makeUnlockUser } from '../../core/identity/accounts/user-changes.ts'
import { secret } from '../../core/kernel/secret.ts'
import { callOf } from '../sql/call.ts'
import { makeIdentityFixture, password } from './identity-fixture.ts'
import { passForAttempts } from './pass-for-attempts.ts'
import { throttleOver } from './throttle.fixture.ts'

/** Identity with attempts that are counted and locks that are told of, and a clock for both that the test moves. */
export const makeLockingFixture = (db: SqlDatabase) => {
  const fixture = makeIdentityFixture(db)
  const noting: Promise<void>[] = []
  const throttle = throttleOver(makeSqlAttemptCounters(db), () => fixture.deps.clock.now().getTime(), undefined, {
    // The removal of old counters would be counted as a statement of the request that happened to trigger it.
    run: (what, work) => void (what.startsWith('purging') || noting.push(work())),
  })
  /** Waits for what the throttle notes after the answer, so that its statements are not counted as the next ones. */
  const noted = async <A>(answer: Promise<A>): Promise<A> => {
    const value = await answer
    await Promise.all(noting.splice(0))
    return value
  }
  const later: (() => Promise<void>)[] = []
  const background = { run: (_what: string, work: () => Promise<void>) => void later.push(work) }
  const deps = { ...fixture.deps, throttle, onLocked: makeNotifyLocked({ ...fixture.deps, background }) }
  const authenticator = makeAuthenticator(deps)
  return {
    ...fixture,
    deps,
    unlock: makeUnlockUser(deps),
    changePassword: makeChangeOwnPassword(deps),
    signIn: (login: string, text = password, sourceIp = '198.51.100.7') =>
      noted(makeSignIn(deps)({ ...callOf(), sourceIp }, { login, password: secret(text), remember: false })),
    basic: (login: string, text = password, sourceIp = '198.51.100.7') =>
      noted(
        authenticator.authenticate(
          { kind: 'password', login, password: secret(text), oneTimeCode: undefined },
          undefined,
          sourceIp,
        ),
      ),
    /** Runs what was put off until after the answer; answers how much that was. */
    afterwards: async () => {
      const due = later.splice(0)
      for (const work of due) await work()
      return due.length
    },
    pass: async (seconds: number) => {
      fixture.passSeconds(seconds)
      await passForAttempts(db, seconds * 1000)
    },
  }
}
export type LockingFixture = ReturnType<typeof makeLockingFixture>
