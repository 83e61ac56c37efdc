-- listOf returns the elements of the list that has the state state, with its sums.
local function listOf(state)
  local heading, words = string.match(state, '^%+(%d+) (.*)$')
  local elements, sums = {}, { 0, 0, 0, 0, 0, 0, 0, 0, 0 }
  for word in string.gmatch(words or state, '%S+') do
    local digits = string.match(word, ':(%d+)$')
    local index, size, level, last, shown = #elements + 1, 16, 1, 0, ''
    for i = 1, 9 do sums[i] = sums[i] + (digits or 1) - 1 end
    while level <= 9 and index % size == 0 do
      last, shown = sums[level], shown .. ':' .. text(sums[level])
      sums[level], size, level = 0, size * 4, level + 1
    end
    if last > 0 then word = digits and word .. shown or word .. ':1' .. shown end
    elements[index] = word
  end
  if heading then
    local head = elements[1]
    elements[1] = head .. '+' .. heading .. ':0'
  end
  return elements
end
