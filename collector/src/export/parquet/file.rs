//! One file of one table.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};
use tempfile::NamedTempFile;

use super::column::{Column, Value};
use super::context::Context;
use super::{SCHEMA, TablesError};

/// Most rows of a row group: engines read groups in parallel, and skip those that a query does not want.
const GROUP_ROWS: usize = 1 << 18;

/// Writes `rows` as the capture's file in `folder`; returns how many there are.
pub(super) fn write<R>(
    context: &Context<'_>,
    table: &str,
    columns: &[Column<'_, R>],
    rows: &[R],
    folder: &Path,
) -> std::result::Result<u64, TablesError> {
    let path = folder.join(format!("part-{}.parquet", context.capture));
    let wrong = |source| TablesError::Write { path: path.clone(), source };
    fs::create_dir_all(folder).map_err(wrong)?;
    // Engines read no files whose names begin with a dot.
    let mut name = tempfile::Builder::new();
    name.prefix(".part-").suffix(".parquet");
    #[cfg(unix)]
    name.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = name.tempfile_in(folder).map_err(wrong)?;
    encode(&file, table, columns, rows)
        .map_err(|source| TablesError::Encode { path: path.clone(), source })?;
    file.persist(&path).map_err(|error| wrong(error.error))?;
    Ok(rows.len() as u64)
}

fn encode<R>(
    file: &NamedTempFile,
    table: &str,
    columns: &[Column<'_, R>],
    rows: &[R],
) -> Result<()> {
    let version = KeyValue::new("schema".to_owned(), SCHEMA.to_owned());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("railscope ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(vec![version]));
    let schema = schema(table, columns)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    for rows in rows.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group()?;
        for column in columns {
            write_column(&mut group, column, rows)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn schema<R>(table: &str, columns: &[Column<'_, R>]) -> Result<TypePtr> {
    let fields = columns.iter().map(|column| {
        let (physical, logical) = match column.value {
            Value::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Value::Integer(_) => (Physical::INT64, None),
            Value::Real(_) => (Physical::DOUBLE, None),
            Value::Truth(_) => (Physical::BOOLEAN, None),
            // Spark reads no nanoseconds.
            Value::Time(_) => {
                (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)))
            }
        };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        Ok(Arc::new(field.build()?))
    });
    let fields = fields.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Type::group_type_builder(table).with_fields(fields).build()?))
}

fn write_column<R>(
    group: &mut SerializedRowGroupWriter<'_, &NamedTempFile>,
    column: &Column<'_, R>,
    rows: &[R],
) -> Result<()> {
    match &column.value {
        Value::Text(of) => {
            values::<ByteArrayType>(group, rows.iter().map(|row| of(row).map(ByteArray::from)))
        }
        Value::Integer(of) | Value::Time(of) => values::<Int64Type>(group, rows.iter().map(of)),
        Value::Real(of) => values::<DoubleType>(group, rows.iter().map(of)),
        Value::Truth(of) => values::<BoolType>(group, rows.iter().map(of)),
    }
}

/// Writes the next column: levels say which values are there.
fn values<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &NamedTempFile>,
    all: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let mut present = Vec::new();
    let mut levels = Vec::new();
    for value in all {
        levels.push(i16::from(value.is_some()));
        present.extend(value);
    }
    if let Some(mut column) = group.next_column()? {
        column.typed::<T>().write_batch(&present, Some(&levels), None)?;
        column.close()?;
    }
    Ok(())
}
