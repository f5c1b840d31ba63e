import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Failure } from '../../kernel/failure.ts'
import type { Invoice, InvoiceState } from './ports.ts'
import { InvoiceStateRefused } from './ports.ts'

/** What can be done with an invoice. */
export type InvoiceStep = 'change' | 'issue' | 'send' | 'pay' | 'void' | 'credit'

const allowed: Readonly<Record<InvoiceStep, readonly InvoiceState[]>> = {
  change: ['draft'],
  issue: ['draft'],
  // Again if the mail was lost.
  send: ['issued', 'sent'],
  pay: ['issued', 'sent'],
  void: ['issued', 'sent'],
  credit: ['issued', 'sent', 'paid'],
}

/** Returns the invoice if its state allows the step. */
export const checkStep = <I extends Pick<Invoice, 'state'>>(
  invoice: I,
  step: InvoiceStep,
): Either<Failure<'InvoiceStateRefused'>, I> =>
  allowed[step].includes(invoice.state)
    ? right(invoice)
    : left(
        InvoiceStateRefused(
          `The state of the invoice is ${invoice.state}. This needs ${allowed[step].join(', ').replace(/, ([^,]*)$/, ' or $1')}.`,
        ),
      )
