import { makeSqlAuditTrail } from '../../adapters/sql/audit/audit-trail.ts'
import { makeSqlUnitOfWork } from '../../adapters/sql/engine/unit-of-work.ts'
import type { SqlDatabase, SqlRunner } from '../../adapters/sql/kit/statement.ts'
import { AuditChainPort } from '../../core/audit/ports.ts'
import type { PortKey } from '../../core/kernel/port-key.ts'
import type { AuditTrail, UnitOfWork } from '../../core/kernel/unit-of-work.ts'
import { notifyAfterCommit } from '../../core/mail/delivery.ts'
import type { MailOutbox } from '../../core/mail/ports.ts'
import { OutboxNotifierPort } from '../../core/mail/ports.ts'
import type { Given, Needs } from '../../plugins/kit/group.ts'
import type { Binding } from '../part/binding.ts'
import { bind } from '../part/binding.ts'
import { BindMailOutboxPort } from './mail/part.ts'

type StoresIn<Stores, Added> = (tx: SqlRunner, audit: AuditTrail) => Omit<Stores, keyof Added>
interface Audited {
  readonly audit: AuditTrail
}
interface AuditedAndMailing extends Audited {
  readonly mail: MailOutbox
}

/** Binds the unit of work over the stores that `bindStores` returns for a transaction, and the audit trail. */
export const bindUnitOfWork = <Stores extends Audited, N extends Needs = Record<never, never>>(
  database: SqlDatabase,
  port: PortKey<UnitOfWork<Stores>>,
  bindStores: (given: Given<N>) => StoresIn<Stores, Audited>,
  needs?: N,
): Binding =>
  bind(port, { ...needs, unitOfWorkChain: AuditChainPort }, (given) => {
    const storesIn = bindStores(given as unknown as Given<N>)
    return makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ ...storesIn(tx, audit), audit }) as unknown as Stores,
      makeSqlAuditTrail(database, given.unitOfWorkChain),
    )
  })

/** As `bindUnitOfWork`, with the outbox of mail, whose delivery is notified after a commit that posted mail. */
export const bindMailingUnitOfWork = <Stores extends AuditedAndMailing, N extends Needs = Record<never, never>>(
  database: SqlDatabase,
  port: PortKey<UnitOfWork<Stores>>,
  bindStores: (given: Given<N>) => StoresIn<Stores, AuditedAndMailing>,
  needs?: N,
): Binding => {
  const mailNeeds = { unitOfWorkChain: AuditChainPort, outbox: BindMailOutboxPort, notifier: OutboxNotifierPort }
  return bind(port, { ...needs, ...mailNeeds }, (given) => {
    const storesIn = bindStores(given as unknown as Given<N>)
    const unitOfWork = makeSqlUnitOfWork(
      database,
      (tx, audit) => ({ ...storesIn(tx, audit), audit, mail: given.outbox(tx) }) as unknown as Stores,
      makeSqlAuditTrail(database, given.unitOfWorkChain),
    )
    return notifyAfterCommit(unitOfWork, given.notifier)
  })
}
