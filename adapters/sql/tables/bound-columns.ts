import 'knex'
import type { Family, NamedFamilies } from '../kit/columns.ts'
import type { Slot } from '../kit/statement.ts'
import type { tablesByPart } from './all-tables.ts'

type Parts = typeof tablesByPart
type Pairs = { [P in keyof Parts]: { [T in keyof Parts[P]]: NamedFamilies<Parts[P][T]> }[keyof Parts[P]] }[keyof Parts]
type Families = { [Pair in Pairs as Pair[0]]: Pair[1] }

type Unqualified<C extends string> = C extends `${string}.${infer Name}` ? Name : C
/** The families of the columns of this name, in any table. A name that is known only at run time takes any value. */
export type BoundFamily<C extends string> = string extends C
  ? Family
  : Unqualified<C> extends infer N
    ? N extends keyof Families
      ? Families[N]
      : string extends N
        ? Family
        : never
    : never

// knex takes a parameter in these places only, and beside a column only if it is of the family of that column.
declare module 'knex' {
  namespace Knex {
    interface Where<TRecord extends {} = any, TResult = unknown> {
      <C extends string>(column: C, value: Slot<NoInfer<BoundFamily<C>>>): Knex.QueryBuilder<TRecord, TResult>
      <C extends string>(
        column: C,
        operator: string,
        value: Slot<NoInfer<BoundFamily<C>>>,
      ): Knex.QueryBuilder<TRecord, TResult>
    }
    interface WhereIn<TRecord extends {} = any, TResult = unknown[]> {
      <C extends string>(
        column: C,
        values: readonly Slot<NoInfer<BoundFamily<C>>>[],
      ): Knex.QueryBuilder<TRecord, TResult>
    }
    interface WhereBetween<TRecord extends {} = any, TResult = unknown[]> {
      <C extends string>(
        column: C,
        range: readonly [Slot<NoInfer<BoundFamily<C>>>, Slot<NoInfer<BoundFamily<C>>>],
      ): Knex.QueryBuilder<TRecord, TResult>
    }
    interface JoinClause {
      onVal<C extends string>(column: C, value: Slot<NoInfer<BoundFamily<C>>>): Knex.JoinClause
      onVal<C extends string>(column: C, operator: string, value: Slot<NoInfer<BoundFamily<C>>>): Knex.JoinClause
      andOnVal<C extends string>(column: C, value: Slot<NoInfer<BoundFamily<C>>>): Knex.JoinClause
    }
    interface QueryInterface<TRecord extends {} = any, TResult = any> {
      limit(limit: Slot<'integer'>): Knex.QueryBuilder<TRecord, TResult>
      offset(offset: Slot<'integer'>): Knex.QueryBuilder<TRecord, TResult>
    }
    interface RawBuilder<TRecord extends {} = any, TResult = any> {
      <TResult2 = TResult>(sql: string, bindings: readonly (Knex.RawBinding | Slot)[]): Knex.Raw<TResult2>
    }
    interface RawQueryBuilder<TRecord extends {} = any, TResult = unknown[]> {
      (sql: string, bindings: readonly (Knex.RawBinding | Slot)[]): Knex.QueryBuilder<TRecord, TResult>
    }
  }
}
