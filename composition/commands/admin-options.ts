import type { CommonOptions } from '../command-context.ts'

export interface CreateUserOptions extends CommonOptions {
  readonly email: string
  readonly admin?: boolean
  readonly passwordFile?: string
}
export interface SetPasswordOptions extends CommonOptions {
  readonly passwordFile?: string
}
export interface CreateTokenOptions extends CommonOptions {
  readonly name: string
  readonly scopes: string
}
