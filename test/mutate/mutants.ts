import ts from 'typescript'

/** A change of one decision of a file. */
export interface Mutant {
  /** Counted from 1. */
  readonly line: number
  readonly before: string
  readonly after: string
  /** The text of the whole file with the change. */
  readonly text: string
}

interface Change {
  readonly from: number
  readonly to: number
  readonly after: string
}

const operators: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [ts.SyntaxKind.LessThanToken, '<='],
  [ts.SyntaxKind.LessThanEqualsToken, '<'],
  [ts.SyntaxKind.GreaterThanToken, '>='],
  [ts.SyntaxKind.GreaterThanEqualsToken, '>'],
  [ts.SyntaxKind.EqualsEqualsEqualsToken, '!=='],
  [ts.SyntaxKind.ExclamationEqualsEqualsToken, '==='],
  [ts.SyntaxKind.AmpersandAmpersandToken, '||'],
  [ts.SyntaxKind.BarBarToken, '&&'],
  [ts.SyntaxKind.PlusToken, '-'],
  [ts.SyntaxKind.MinusToken, '+'],
  [ts.SyntaxKind.AsteriskToken, '/'],
  [ts.SyntaxKind.SlashToken, '*'],
  [ts.SyntaxKind.PlusEqualsToken, '-='],
  [ts.SyntaxKind.MinusEqualsToken, '+='],
])

/**
 * Returns the mutants of a file: an operator is replaced, a condition negated, a number raised by one, a truth value
 * inverted, the left side of `??` ignored, or a statement left out. Types, imports and texts stay as they are.
 */
export const mutantsOf = (path: string, text: string): readonly Mutant[] => {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const changes: Change[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isInterfaceDeclaration(node)) return
    if (ts.isTypeAliasDeclaration(node)) return
    changes.push(...changesOf(node, source))
    ts.forEachChild(node, visit)
  }
  visit(source)
  return changes.map(({ from, to, after }) => ({
    line: source.getLineAndCharacterOfPosition(from).line + 1,
    before: text.slice(from, to),
    after,
    text: text.slice(0, from) + after + text.slice(to),
  }))
}

const changesOf = (node: ts.Node, source: ts.SourceFile): readonly Change[] => {
  const instead = (of: ts.Node, after: string): Change => ({ from: of.getStart(source), to: of.getEnd(), after })
  if (ts.isBinaryExpression(node)) {
    const { left, operatorToken, right } = node
    if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) return [instead(node, right.getText(source))]
    const other = operators.get(operatorToken.kind)
    // Texts are joined by `+`, too: leaving out the right side would be another mutant of the same place.
    return other === undefined || ts.isStringLiteralLike(left) ? [] : [instead(operatorToken, other)]
  }
  if (ts.isConditionalExpression(node)) return [instead(node.condition, `!(${node.condition.getText(source)})`)]
  if (ts.isIfStatement(node)) return [instead(node.expression, `!(${node.expression.getText(source)})`)]
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [instead(node, node.operand.getText(source))]
  if (ts.isNumericLiteral(node) && !ts.isPropertyAccessExpression(node.parent))
    return [instead(node, String(Number(node.text.replaceAll('_', '')) + 1))]
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [instead(node, 'false')]
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [instead(node, 'true')]
  return ts.isExpressionStatement(node) && !ts.isStringLiteral(node.expression) ? [instead(node, '{}')] : []
}
