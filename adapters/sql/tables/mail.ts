import type { AccountId } from '../../../core/kernel/ids.ts'
import { id, instant, int, nullable, rowId, sealed, table, text, withDefault } from '../kit/columns.ts'

export const mailOutbox = table('mail_outbox', {
  id: rowId(),
  ref: text(36),
  accountId: nullable(id<AccountId>()),
  sealed: sealed(),
  attempts: withDefault(int()),
  notBefore: instant(),
  createdAt: instant(),
  lastError: withDefault(text(64)),
})

declare module './bound-columns.ts' {
  interface DeclaredTables {
    mail: typeof import('./mail.ts')
  }
}
