import { makeArgon2PasswordHasher, makeHashingQueue } from '../../adapters/security/passwords.ts'
import { makeSharpPictureMaker } from '../../adapters/pictures/sharp-picture-maker.ts'
import { pauseInLongTurn } from '../../adapters/sql/engine/event-loop-turns.ts'
import { makeSqlIdempotencyStore } from '../../adapters/sql/kernel/idempotency-store.ts'
import { makeSqlInstanceRegister, makeSqlLeaseStore } from '../../adapters/sql/kernel/instance-store.ts'
import { timerPause } from '../../adapters/system/background.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import { PasswordHasherToken } from '../../core/identity/ports.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { ClockToken, PauseInLongTurnToken, PauseToken, TimeTrustToken } from '../../core/kernel/clock.ts'
import { EntropyToken, SecretBoxToken } from '../../core/kernel/secret.ts'
import { IdempotencyStoreToken } from '../../core/kernel/idempotency.ts'
import { InstanceRegisterToken, LeaseStoreToken } from '../../core/kernel/instances.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { PictureMakerToken } from '../../core/kernel/picture.ts'
import type { WorkQueue } from '../../adapters/security/work-queue.ts'
import { makeWorkQueue } from '../../adapters/security/work-queue.ts'
import { token } from '../../core/kernel/token.ts'
import type { Provide } from '../boot.ts'

/** The queue of the password hasher, for the metrics. */
export const HashingQueueToken = token<WorkQueue>('security.HashingQueue')

/** Provides the ports that belong to no part, and the password hasher, whose queue the whole process shares. */
export const provideKernel: Provide = (container, boot) => {
  container.provideValue(ClockToken, boot.clock)
  container.provideValue(TimeTrustToken, boot.clock)
  container.provideValue(PauseToken, timerPause)
  container.provideValue(PauseInLongTurnToken, pauseInLongTurn)
  container.provideValue(EntropyToken, systemEntropy)
  container.provideValue(CachesToken, lruCaches)
  container.provideValue(LogToken, boot.log)
  container.provideValue(SecretBoxToken, boot.secretBox)
  container.provideValue(PictureMakerToken, makeSharpPictureMaker(makeWorkQueue({ concurrency: 1, maxWaiting: 8 })))
  container.provide(HashingQueueToken, () => makeHashingQueue())
  container.provide(PasswordHasherToken, (resolve) => makeArgon2PasswordHasher(resolve(HashingQueueToken)))
  container.provide(LeaseStoreToken, () => makeSqlLeaseStore(boot.database))
  container.provide(IdempotencyStoreToken, () => makeSqlIdempotencyStore(boot.database, boot.instanceId))
  container.provide(InstanceRegisterToken, () => makeSqlInstanceRegister(boot.database, boot.instanceId))
}
