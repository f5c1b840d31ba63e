import type { LogState } from '../../../adapters/logging/log-lines.ts'
import type { TlsIdentity } from '../../../adapters/security/tls-identity.ts'
import { daysLeft, expiryTold } from '../../../adapters/security/tls-identity.ts'
import { makeDatabaseHealth } from '../../../adapters/sql/engine/database.ts'
import type { SharedClock } from '../../../adapters/system/shared-clock.ts'
import { whyUnwritable } from '../../../adapters/system/files.ts'
import type { Fleet } from '../../../core/kernel/instances.ts'
import type { RuntimeSettings } from '../../part/runtime-settings.ts'
import type { ReadinessCheck } from '../../part/readiness-check.ts'
import type { Foundation } from './foundation.ts'

/** The certificate with which the API port speaks TLS; it changes when the files are renewed. */
export interface CertificateInUse {
  /** Undefined when TLS is off. */
  readonly current: () => TlsIdentity | undefined
  readonly replace: (identity: TlsIdentity) => void
}

export const makeCertificateInUse = (first: TlsIdentity | undefined): CertificateInUse => {
  let used = first
  return {
    current: () => used,
    replace: (identity) => {
      used = identity
    },
  }
}

export interface ReadinessDeps {
  readonly foundation: Pick<Foundation, 'database' | 'clock' | 'refusal'>
  readonly settings: Pick<RuntimeSettings, 'tempDir'>
  readonly certificate: CertificateInUse['current']
  readonly logState: () => LogState
}

/**
 * Returns the checks of `/readyz` of the runtime. docs/decisions/degraded.md says which of them take an instance out of
 * service.
 */
export const readinessChecks = ({
  foundation,
  settings,
  certificate,
  logState,
}: ReadinessDeps): readonly ReadinessCheck[] => [
  databaseCheck(foundation),
  clockCheck(foundation.clock),
  changesCheck(foundation),
  temporaryFilesCheck(settings.tempDir),
  ...certificateChecks(certificate),
  logCheck(logState),
]

const databaseCheck = ({ database }: Pick<Foundation, 'database'>): ReadinessCheck => {
  const health = makeDatabaseHealth(database)
  return { name: 'database', check: async () => (await health()).isHealthy }
}

/** Uses the last measurement. A measurement that hangs is reported by the check of the database. */
const clockCheck = (clock: SharedClock): ReadinessCheck => ({
  name: 'clock',
  check: async () => !clock.isSkewed(),
  reason: () => {
    const seconds = clock.skewMs() / 1000
    return (
      `this machine's clock is ${Math.abs(seconds).toFixed(1)} s ${seconds > 0 ? 'ahead of' : 'behind'} the ` +
      `database's; jobs do not run here`
    )
  },
})

/** Reads work while a database takes no changes, and it takes none from any instance. */
const changesCheck = ({ refusal }: Pick<Foundation, 'refusal'>): ReadinessCheck => ({
  name: 'database changes',
  isDegrading: true,
  check: async () => refusal() === undefined,
  reason: () => refusal() ?? 'unknown',
})

const temporaryFilesCheck = (folder: string): ReadinessCheck => {
  let why: string | undefined
  return {
    name: 'temporary files',
    isDegrading: true,
    check: async () => {
      why = await whyUnwritable(folder)
      return why === undefined
    },
    reason: () => `${folder} cannot be written (${why ?? 'it does not answer'})`,
  }
}

const certificateChecks = (certificate: CertificateInUse['current']): readonly ReadinessCheck[] => {
  const told = (): string | undefined => {
    const current = certificate()
    return current === undefined ? undefined : expiryTold(current)
  }
  const hasEnded = (): boolean => {
    const current = certificate()
    return current !== undefined && daysLeft(current) < 0
  }
  const reason = (): string => told() ?? 'unknown'
  return [
    { name: 'certificate', isDegrading: true, check: async () => !hasEnded(), reason },
    { name: 'certificate renewal', isInformative: true, check: async () => told() === undefined, reason },
  ]
}

/** Shows an upgrade that is under way, or that an instance was forgotten. */
export const releasesCheck = (fleet: Fleet, knownSchema: string): ReadinessCheck => {
  const unread = 'the instances could not be read'
  let reason = unread
  return {
    name: 'releases',
    isInformative: true,
    check: async () => {
      reason = unread
      if (await fleet.knows(knownSchema)) return true
      const lowest = await fleet.lowest()
      reason = `an instance of ${lowest?.version ?? 'v2026.11.25 or older'} is alive: see docs/upgrades.md`
      return false
    },
    reason: () => reason,
  }
}

/** Lines wait 50 ms for their batch. Older ones wait for a disk or a reader. */
const oldestUnwrittenMs = 1_000

const logCheck = (state: () => LogState): ReadinessCheck => ({
  name: 'log',
  isDegrading: true,
  check: async () => {
    const { trouble, backlogAgeMs } = state()
    return trouble === undefined && backlogAgeMs < oldestUnwrittenMs
  },
  reason: () => {
    const { trouble, backlogLength, backlogAgeMs, lost } = state()
    const why = trouble === undefined ? 'its reader is too slow' : `it cannot be written (${trouble})`
    return (
      `${why}; ${backlogLength} characters wait, since ${Math.round(backlogAgeMs / 1000)} s; ` +
      `${lost} lines were lost since the start`
    )
  },
})
