import type { Either } from 'fp-ts/lib/Either.js'
import type { AuditTrail, UnitOfWork } from '../kernel/unit-of-work.ts'
import { defineFailure, type Failure } from '../kernel/failure.ts'
import { token } from '../kernel/token.ts'
import type { DriverConfigurationStore } from './ports.ts'

/** The `filter` is no regular expression, or one that is too large. */
export const FilterRefused = defineFailure('FilterRefused', 'Unprocessable')
/** An option of a list is not one of its words. */
export const ListOptionRefused = defineFailure('ListOptionRefused', 'Unprocessable')
/** Not a driver that this service works with. */
export const DriverRefused = defineFailure('DriverRefused', 'Unprocessable')

/** Regular expressions as Go has them (RE2): time grows with the text alone, whatever the pattern. */
export interface NamePatterns {
  compile(pattern: string): Either<Failure<'FilterRefused'>, NameFilter>
}
/** Answers the names in which the pattern occurs anywhere. However many there are, everything else has its turn in between. */
export type NameFilter = (names: ReadonlySet<string>) => Promise<ReadonlySet<string>>
export const NamePatternsToken = token<NamePatterns>('packages.NamePatterns')

/** What a change of the driver is made of, in one transaction. */
export interface DriverStores {
  readonly drivers: DriverConfigurationStore
  readonly audit: AuditTrail
}
export type DriverUnitOfWork = UnitOfWork<DriverStores>
export const DriverUnitOfWorkToken = token<DriverUnitOfWork>('packages.DriverUnitOfWork')
