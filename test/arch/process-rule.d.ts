import type { Rule } from 'eslint'

export declare const processRule: Rule.RuleModule
