import { makeSharpPictureMaker } from '../../adapters/pictures/sharp-picture-maker.ts'
import { pauseInLongTurn } from '../../adapters/sql/engine/event-loop-turns.ts'
import { makeSqlIdempotencyStore } from '../../adapters/sql/kernel/idempotency-store.ts'
import { makeSqlInstanceRegister, makeSqlLeaseStore } from '../../adapters/sql/kernel/instance-store.ts'
import { timerPause } from '../../adapters/system/background.ts'
import { lruCaches } from '../../adapters/system/lru-caches.ts'
import { systemEntropy } from '../../adapters/system/system-entropy.ts'
import { CachesToken } from '../../core/kernel/cache.ts'
import { ClockToken, PauseInLongTurnToken, PauseToken, TimeTrustToken } from '../../core/kernel/clock.ts'
import { EntropyToken, SecretBoxToken } from '../../core/kernel/secret.ts'
import { IdempotencyStoreToken } from '../../core/kernel/idempotency.ts'
import { InstanceRegisterToken, LeaseStoreToken } from '../../core/kernel/instances.ts'
import { LogToken } from '../../core/kernel/log.ts'
import { PictureMakerToken } from '../../core/kernel/picture.ts'
import { makeWorkQueue } from '../../adapters/security/work-queue.ts'
import { TaskHandlersToken } from '../../core/tasks/ports.ts'
import type { Boot } from '../boot.ts'
import { ofApiListener } from '../http/api-listener.ts'
import { FirstAdminToken } from './operator.ts'
import type { Binding } from '../binding.ts'
import { bind } from '../binding.ts'

/** Returns how the ports of the frame are made, which belong to no part. */
export const frameBindings = (boot: Boot): readonly Binding[] => [
  bind(ClockToken, {}, () => boot.clock),
  bind(TimeTrustToken, {}, () => boot.clock),
  bind(PauseToken, {}, () => timerPause),
  bind(PauseInLongTurnToken, {}, () => pauseInLongTurn),
  bind(EntropyToken, {}, () => systemEntropy),
  bind(CachesToken, {}, () => lruCaches),
  bind(LogToken, {}, () => boot.log),
  bind(SecretBoxToken, {}, () => boot.secretBox),
  bind(PictureMakerToken, {}, () => makeSharpPictureMaker(makeWorkQueue({ concurrency: 1, maxWaiting: 8 }))),
  bind(LeaseStoreToken, {}, () => makeSqlLeaseStore(boot.database)),
  bind(IdempotencyStoreToken, {}, () => makeSqlIdempotencyStore(boot.database, boot.instanceId)),
  bind(InstanceRegisterToken, {}, () => makeSqlInstanceRegister(boot.database, boot.instanceId)),
]

/** The ports that `serve` needs beside those of the routes, jobs and tasks of plugins. */
export const frameNeeds = {
  ...ofApiListener,
  register: InstanceRegisterToken,
  leases: LeaseStoreToken,
  firstAdmin: FirstAdminToken,
  taskHandlers: TaskHandlersToken,
}
