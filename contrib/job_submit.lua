-- Bancada's job_submit.lua, for Slurm's JobSubmitPlugins=lua (22.05 and later). Copy it beside slurm.conf.
-- 1. A request for GPUs without a type gets the partition's type, since limits per type count typed requests only;
--    where the partition has several types, or nobody can say which, the request is refused with a sentence.
-- 2. The portal's token in the comment is copied to the admin comment, which the job's owner cannot rewrite.
-- Fill in TYPES with your partitions; a partition that is missing here is left alone.

local TYPES = {
  gpu = { "a100" },
  large = { "h100" },
}

local TOKEN = "^bancada:" .. string.rep("%x", 32) .. "$"

-- "gpu", "gpu:2", "gres:gpu:2", "gres/gpu=2", "gres/gpu:2": a number or nothing after gpu means no type was given
local function typed(one, kind)
  local prefix, rest = string.match(one, "^(gres[:/])gpu(.*)$")
  if prefix == nil then
    prefix, rest = "", string.match(one, "^gpu(.*)$")
  end
  if rest == nil then return one, false end
  if rest == "" or string.match(rest, "^[:=]%d+$") then
    return prefix .. "gpu:" .. kind .. rest, true
  end
  return one, false
end

local function each(request, kind)
  local words, changed = {}, false
  for word in string.gmatch(request, "[^,]+") do
    local new, was = typed(word, kind)
    words[#words + 1] = new
    changed = changed or was
  end
  return table.concat(words, ","), changed
end

local FIELDS = { "tres_per_node", "tres_per_job", "tres_per_socket", "tres_per_task" }

-- the types of "gpu" or of "gpu,large", each once
local function types_of(partitions)
  local found, seen = {}, {}
  for partition in string.gmatch(partitions or "", "[^,]+") do
    for _, kind in ipairs(TYPES[partition] or {}) do
      if not seen[kind] then found[#found + 1] = kind end
      seen[kind] = true
    end
  end
  return found
end

local function add_type(job_desc, partition)
  local types = types_of(partition)
  if #types == 0 then return slurm.SUCCESS end
  for _, field in ipairs(FIELDS) do
    local request = job_desc[field]
    if request ~= nil and request ~= "" then
      local new, changed = each(request, types[1])
      if changed and #types > 1 then
        slurm.log_user("Name the GPU type: partition " .. partition .. " has " .. table.concat(types, ", ") .. ".")
        return slurm.ERROR
      end
      if changed then job_desc[field] = new end
    end
  end
  return slurm.SUCCESS
end

local function default_partition(part_list)
  for name, partition in pairs(part_list) do
    if partition.flag_default == 1 then return name end
  end
  return nil
end

function slurm_job_submit(job_desc, part_list, submit_uid)
  local comment = job_desc.comment
  if comment ~= nil and string.match(comment, TOKEN) then
    job_desc.admin_comment = comment
  end
  return add_type(job_desc, job_desc.partition or default_partition(part_list))
end

-- Adding a type while a job waits goes through the same rule; the comment is not looked at again.
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
  return add_type(job_desc, job_desc.partition or job_rec.partition)
end

return slurm.SUCCESS
